package lockdir

import (
	"crypto/rand"
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

// IsContent reports whether a file is in a directory as MakeContent makes them.
func IsContent(path string) bool {
	return strings.HasPrefix(filepath.Base(filepath.Dir(path)), contentPrefix)
}

// SweepContent removes such directories whose client was killed. With dry it removes nothing, and returns what it would remove.
func SweepContent(dry bool) (removed []string, err error) {
	return Sweep(os.TempDir(), contentPrefix, dry, nil)
}
