package userfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// NewFile is a file that a command makes where the user says.
type NewFile struct {
	path    string
	replace bool
}

// Create refuses a path where something is, unless that is a regular file and is to be replaced. Put makes the file.
func Create(path string, replace bool) (*NewFile, error) {
	to := &NewFile{path, replace}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s cannot be made: the directory %s does not exist; make it first, or name another file", path, filepath.Dir(path))
		}
		return to, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is no regular file; name another", path)
	case !replace:
		return nil, to.taken()
	}
	return to, nil
}

func (f *NewFile) taken() error {
	return fmt.Errorf("%s exists already; name another file, or use --overwrite", f.path)
}

// Put writes the file atomically: a temporary file beside it is given its name.
func (f *NewFile) Put(write func(io.Writer) error) error {
	name := filepath.Join(filepath.Dir(f.path), ".scidex-oci-"+rand.Text())
	beside, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the caller's umask says who may read it
	if err != nil {
		return err
	}
	defer os.Remove(name) // where it has not got its name
	if err := errors.Join(write(beside), beside.Close()); err != nil {
		return err
	}
	return f.name(name)
}

// name gives the finished file its name, which may have been taken meanwhile.
func (f *NewFile) name(finished string) error {
	if f.replace {
		return os.Rename(finished, f.path)
	}
	err := outputs.Publish(unix.AT_FDCWD, finished, f.path)
	if errors.Is(err, fs.ErrExist) {
		return f.taken()
	}
	return err
}
