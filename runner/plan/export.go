package plan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
)

// checkExport refuses, before anything runs, a target that is not empty or that the export could not write.
func checkExport(dir string, overwrite bool) error {
	if dir == "" {
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist): // the export makes it
	case err != nil:
		return fmt.Errorf("--export %q: %w; give a directory", dir, inode.Plain(err))
	case len(entries) > 0 && !overwrite:
		return fmt.Errorf("--export %q is not empty; choose another directory or add --overwrite", dir)
	}
	return checkWritable(dir)
}

// checkWritable refuses a directory that the caller cannot write, or cannot make in the nearest one that exists.
func checkWritable(dir string) error {
	above := dir
	for {
		err := unix.Faccessat(unix.AT_FDCWD, above, unix.W_OK|unix.X_OK, unix.AT_EACCESS)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, unix.ENOENT) && filepath.Dir(above) != above:
			above = filepath.Dir(above)
			continue
		case above == dir:
			return fmt.Errorf("--export %q cannot be written: %w; give another directory, such as --export out", dir, err)
		}
		return fmt.Errorf("--export %q cannot be made in %s: %w; give another directory, such as --export out", dir, above, err)
	}
}
