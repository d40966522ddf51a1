package lockdir

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// contentPrefix starts the names of directories in which a client hands code and files to a run. The Python client makes and
// locks its own (python/scidex_oci/content.py).
const contentPrefix = "scidex-content-"

// MakeContent makes a directory for what is handed to a run, in the directory for temporary files. It is locked until the
// file is closed.
func MakeContent() (*os.File, error) {
	return Make(filepath.Join(os.TempDir(), contentPrefix+rand.Text()))
}

// SweepContentOf removes the directory of a script or of files that were handed to a run, if its client was killed. The client may
// have another directory for temporary files.
func SweepContentOf(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if dir := filepath.Dir(path); strings.HasPrefix(filepath.Base(dir), contentPrefix) {
			_, err := sweep(dir, false, nil)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// SweepContent removes such directories whose client was killed. With dry it removes nothing, and returns what it would remove.
func SweepContent(dry bool) (removed []string, err error) {
	return Sweep(os.TempDir(), contentPrefix, dry, nil)
}
