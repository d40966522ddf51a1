package userdir

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Temporary begins the names of files that are not whole yet.
const Temporary = ".scidex-oci-"

// File is a file that is being written, and gets its name when it is whole.
type File struct {
	*os.File
	dir  *Dir
	name string // while it has none
}

// Create makes a file with the mode under the umask. Publish or Discard it.
func (d *Dir) Create(mode fs.FileMode) (*File, error) {
	name := Temporary + rand.Text()
	f, err := d.Exclusive(name, mode)
	if err != nil {
		return nil, err
	}
	return &File{f, d, name}, nil
}

// Publish closes the file and gives it its name. If something has that name, it is fs.ErrExist, unless replace is set and that is
// a regular file. After an error the file is gone.
func (f *File) Publish(name string, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		switch st, err := f.dir.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return errors.Join(err, f.Discard())
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return errors.Join(f.dir.fail("rename", name, fmt.Errorf("it exists and is no regular file: %w", fs.ErrExist)), f.Discard())
		default:
			flags = 0
		}
	}
	if err := f.dir.Rename(f.name, f.dir, name, flags); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Close()
}

// Discard removes the file.
func (f *File) Discard() error { return errors.Join(f.dir.Remove(f.name, f.File), f.Close()) }

// Scratch makes a file without a name, for reading and writing.
func (d *Dir) Scratch() (*os.File, error) {
	f, err := d.Create(0o600)
	if err != nil {
		return nil, err
	}
	if err := d.Remove(f.name, f.File); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.File, nil
}
