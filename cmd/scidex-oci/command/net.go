package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores/drivers"
	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// netProgram has all commands and stores (docs/adr/0043). scidex-oci has what a run on this host needs, and executes it for the rest.
const netProgram = "scidex-oci-net"

// netBuild is the SHA-256, in hex, of the scidex-oci-net built with this program; scripts/build sets it.
var netBuild string

// NetEntry is the entry of a command of scidex-oci-net in the help of scidex-oci.
func NetEntry(name, usage string) *cli.Command { return &cli.Command{Name: name, Usage: usage} }

// isNetEntry reports whether a command is only an entry.
func isNetEntry(c *cli.Command) bool { return c.Action == nil && len(c.Subcommands) == 0 }

// NeedsNet reports whether a command line ended with err because scidex-oci-net has what it needs.
func NeedsNet(err error) bool { return errors.Is(err, drivers.ErrMissing) }

// ExecuteNet executes scidex-oci-net with the command line of this process. It returns only errors.
func (p *Program) ExecuteNet() error {
	file, err := openNet()
	if err != nil {
		return err
	}
	// By its descriptor: the checked file is executed.
	err = syscall.Exec(inode.ProcPath(file), p.Args, os.Environ())
	return fmt.Errorf("execute %s: %w", file.Name(), err)
}

// openNet opens the scidex-oci-net that was built with this program.
func openNet() (*os.File, error) {
	if netBuild == "" {
		return nil, fmt.Errorf("this needs %s, and this program was built without it: build both with scripts/build", netProgram)
	}
	file, err := helper.Open("/proc/self/exe", netProgram, netBuild, syscall.Stderr)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("this needs %s, which is not in the directory of this program: install both with scripts/install", netProgram)
	case err != nil:
		return nil, fmt.Errorf("this needs %s: %w; install both again with scripts/install", netProgram, err)
	}
	return file, nil
}

// loadNet executes scidex-oci-net if the stores are on other hosts and this program cannot open such. That is before a
// command does anything.
func (p *Program) loadNet() error {
	if _, err := drivers.Get(); err == nil || !stores.Remote(p.Options) {
		return nil
	}
	return p.ExecuteNet()
}
