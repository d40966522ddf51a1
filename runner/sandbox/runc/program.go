package runc

import (
	"errors"
	"io/fs"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/host/helper"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/protocol"
)

// build is the SHA-256, in hex, of the supervisor's program (cmd/scidex-oci-supervisor) built with this one;
// scripts/build sets it. If empty, this program is its own supervisor.
var build string

const (
	programName = "scidex-oci-supervisor"
	// itself is always the launcher's build, even if its file was replaced or removed.
	itself = "/proc/self/exe"
)

// program is what Launch executes.
type program struct {
	path string
	file *os.File // nil for itself
	// slow says why it is this program although the other program is in the same directory.
	slow error
}

// chooseProgram returns the small program in the directory of this one if it can be trusted, and else this one, which does the same
// but takes longer.
func chooseProgram() program {
	if build == "" {
		return program{path: itself}
	}
	file, err := helper.Open(itself, programName, build, protocol.SocketFD)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return program{path: itself} // a single file suffices
	case err != nil:
		return program{path: itself, slow: err}
	}
	// By its descriptor: the checked file is executed.
	return program{path: inode.ProcPath(file), file: file}
}

func (p program) close() {
	if p.file != nil {
		p.file.Close()
	}
}

// named adds the file's name to an error of executing it.
func (p program) named(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) && failed.Path == p.path {
		if name, err := os.Readlink(p.path); err == nil {
			failed.Path = name
		}
	}
	return err
}
