package plan

import (
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// openExport opens the directory of --export, or the nearest one above it, before anything runs. It refuses one that is not empty, or that
// the export could not write; nil if none is requested.
func openExport(dir string, overwrite bool) (*outputs.Target, error) {
	if dir == "" {
		return nil, nil // there is none
	}
	to, err := outputs.OpenTarget(dir, overwrite)
	switch {
	case errors.Is(err, outputs.ErrNotEmpty):
		return nil, fmt.Errorf("--export %q is not empty; choose another directory or add --overwrite", dir)
	case err != nil:
		return nil, fmt.Errorf("--export %q: %w; give a directory", dir, inode.Plain(err))
	}
	if err := to.Writable(); err != nil {
		return nil, errors.Join(fmt.Errorf("--export %q %w; give another directory, such as --export out", dir, err), to.Close())
	}
	return to, nil
}

// checkExport is openExport for a line of a batch, which is run later.
func checkExport(dir string, overwrite bool) error {
	to, err := openExport(dir, overwrite)
	if to != nil {
		err = to.Close()
	}
	return err
}
