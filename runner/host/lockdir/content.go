package lockdir

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// contentPrefix starts the names of directories in which a client hands code and files to a run. The Python client makes and
// locks its own (python/scidex_oci/content.py).
const contentPrefix = "scidex-content-"

// MakeContent makes a directory for what is handed to a run, in the directory for temporary files. It is locked until the
// file is closed.
func MakeContent() (*os.File, error) {
	f, err := Make(filepath.Join(os.TempDir(), contentPrefix+rand.Text()))
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o700 | os.ModeSticky); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// SweepContentOf removes the directory of a script or of files that were handed to a run, if its client was killed. The client may
// have another directory for temporary files. A directory of somebody's own may have such a name: it has no mark, the sticky bit.
// One that another user could exchange is left.
func SweepContentOf(paths ...string) error {
	var errs []error
	for _, path := range paths {
		if dir := filepath.Dir(path); isContent(dir) && userdir.CheckTrusted(dir) == nil {
			_, err := sweep(dir, false, nil)
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func isContent(dir string) bool {
	info, err := os.Lstat(dir)
	return err == nil && info.Mode() == os.ModeDir|os.ModeSticky|0o700 && strings.HasPrefix(filepath.Base(dir), contentPrefix)
}

// SweepContent removes such directories whose client was killed. With dry it removes nothing, and returns what it would remove.
func SweepContent(dry bool) (removed []string, err error) {
	all, err := filepath.Glob(filepath.Join(os.TempDir(), contentPrefix+"*"))
	errs := []error{err}
	for _, dir := range all {
		if !isContent(dir) {
			continue
		}
		stale, err := sweep(dir, dry, nil)
		if stale && err == nil {
			removed = append(removed, dir)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}
