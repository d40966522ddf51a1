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
	if above, err := to.Writable(); err != nil {
		why := "cannot be written"
		if above != "" {
			why = "cannot be made in " + above
		}
		err = fmt.Errorf("--export %q %s: %w; give another directory, such as --export out", dir, why, inode.Plain(err))
		return nil, errors.Join(err, to.Close())
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
