package selftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// directory is what the canaries are given: the program, their orders, whose turn it is. Its lock, which
// the kernel drops with the launcher, tells it from what a killed selftest left.
type directory struct {
	path string
	lock *os.File
}

// prefix begins the name of every directory.
const prefix = "scidex-oci-"

// makeDirectory makes it beside the working directories and removes what killed selftests left there. Not
// below the root: what is there no run may show.
func makeDirectory(tmp, id string) (_ *directory, err error) {
	if _, err := Sweep(tmp, false); err != nil {
		return nil, err
	}
	d := &directory{path: filepath.Join(tmp, prefix+id)}
	if d.lock, err = lockdir.Make(d.path); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.remove())
		}
	}()
	if err := copyProgram(d.file("canary")); err != nil {
		return nil, fmt.Errorf("copy this program for the canary: %w", err)
	}
	return d, d.write("turn", nil)
}

func (d *directory) file(name string) string { return filepath.Join(d.path, name) }

// write makes a file that every id can read, or replaces what is in it: the same file, because that is what
// the canaries have bound.
func (d *directory) write(name string, text []byte) error {
	f, err := os.OpenFile(d.file(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) //nolint:gosec // the directory is closed
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	// Whatever the umask is.
	return errors.Join(err, f.Chmod(0o644), f.Close())
}

func (d *directory) remove() error {
	err := os.RemoveAll(d.path)
	if d.lock != nil {
		err = errors.Join(err, d.lock.Close())
	}
	return err
}

// copyProgram copies this very executable, which a run's own id may have no right to.
func copyProgram(to string) (err error) {
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer program.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755) //nolint:gosec // the directory is closed
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := io.Copy(f, program); err != nil {
		return err
	}
	return f.Chmod(0o755)
}

// Sweep removes what killed selftests of the caller left in the directory tmp, dry only in what it returns.
func Sweep(tmp string, dry bool) (removed []string, err error) {
	return lockdir.Sweep(tmp, prefix+"selftest-", dry, nil)
}
