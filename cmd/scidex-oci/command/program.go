// Package command has what the commands of this program share: their environment, arguments, exit codes, stores, images and signals,
// and a connection to the command that started a detached run.
package command

import (
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Program is the process as the commands see it.
type Program struct {
	Stdin       io.Reader
	Stdout      *screen.Stdout
	Stderr      *os.File
	Env         options.Lookup
	Build       Build
	Options     *options.Global // those of every command
	Args        []string
	Caller      *Caller // nil but in the launcher of a detached run
	Began, Main int64   // when the process and its main began (trace.Birth)
	// Net makes the commands of scidex-oci-net; nil in scidex-oci.
	Net func(*Program) []*cli.Command
	// Perform runs another command line of this program, as a part of a command.
	Perform func(line []string) error

	spans  *spanSender // nil: none are sent
	warned bool        // of variables
}

// CallLine is a command line, without a command, that runs this program on the same catalog.
func (p *Program) CallLine() string {
	line := "scidex-oci"
	for _, t := range p.Options.OnLine() {
		line += " " + t.Label + " " + format.ShellQuote(t.Value)
	}
	return screen.Escape(line)
}
