package selftest

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// directory is what the canaries are given: the program, their orders, whose turn it is. Its lock, which
// the kernel drops with the launcher, tells it from what a killed selftest left.
type directory struct {
	path string
	lock *os.File
}

// makeDirectory makes it below the root, where nobody but the caller can write, and removes what killed
// selftests left there.
func makeDirectory(root, id string) (_ *directory, err error) {
	if _, err := Sweep(root, false); err != nil {
		return nil, err
	}
	d := &directory{path: filepath.Join(root, id)}
	if err := os.Mkdir(d.path, 0o700); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.remove())
		}
	}()
	if d.lock, err = lock(d.path); err != nil {
		return nil, err
	}
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

// lock locks a directory, or returns EWOULDBLOCK.
func lock(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
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

// Sweep removes what killed selftests left below the root, dry only in what it returns.
func Sweep(root string, dry bool) (removed []string, err error) {
	paths, err := filepath.Glob(filepath.Join(root, "selftest-*"))
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, path := range paths {
		held, err := lock(path)
		if errors.Is(err, unix.EWOULDBLOCK) || errors.Is(err, os.ErrNotExist) {
			continue // it is at work, or has just ended
		}
		if err == nil && !dry {
			err = os.RemoveAll(path)
		}
		if held != nil {
			err = errors.Join(err, held.Close())
		}
		if err == nil {
			removed = append(removed, path)
		}
		errs = append(errs, err)
	}
	return removed, errors.Join(errs...)
}
