package command

import (
	"fmt"
	"io"
	"os/exec"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// DecompressEntry is the entry of the hidden command of scidex-oci-net that DecompressByNet executes.
func DecompressEntry() *cli.Command {
	entry := NetEntry("decompress", "")
	entry.Hidden = true
	return entry
}

// DecompressByNet decompresses a gzip or zstd stream in a process of scidex-oci-net: a root filesystem that is missing or damaged
// is made again in a run, which is rare, and the decoders would cost each start. Its errors come with Read.
func DecompressByNet(r io.Reader) (io.ReadCloser, error) {
	program, err := openNet()
	if err != nil {
		return nil, err
	}
	defer program.Close()
	d := &decompressor{cmd: exec.Command(inode.ProcPath(program), DecompressEntry().Name), stderr: helper.Stderr()}
	d.cmd.Stdin, d.cmd.Stderr, d.cmd.Env = r, d.stderr, []string{}
	d.wait = sync.OnceValue(d.cmd.Wait)
	if d.stdout, err = d.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := d.cmd.Start(); err != nil {
		return nil, fmt.Errorf("execute %s: %w", program.Name(), err)
	}
	return d, nil
}

// decompressor is the process.
type decompressor struct {
	cmd    *exec.Cmd
	stdout io.Reader
	stderr *bounded.Buffer
	wait   func() error
}

func (d *decompressor) Read(p []byte) (int, error) {
	n, err := d.stdout.Read(p)
	if err == nil {
		return n, nil
	}
	if failed := d.wait(); failed != nil {
		return n, helper.Failure(failed, d.stderr)
	}
	return n, err
}

// Close ends the process, whose output is of no use any more if it has not ended.
func (d *decompressor) Close() error {
	_ = d.cmd.Process.Kill()
	_ = d.wait()
	return nil
}
