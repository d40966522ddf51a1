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

// Write makes a file with what write writes, whole or not at all, with the mode under the umask. If the name exists,
// the error is fs.ErrExist, unless replace is set and it is a regular file. The file survives a power cut only if write
// syncs it and the caller then calls Sync.
func (d *Dir) Write(name string, replace bool, mode fs.FileMode, write func(*os.File) error) error {
	temp := Temporary + rand.Text()
	f, err := d.Exclusive(temp, mode)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = d.give(temp, name, replace)
	}
	if err != nil {
		err = errors.Join(err, d.Remove(temp, f))
	}
	return errors.Join(err, f.Close())
}

// give gives a new file its name.
func (d *Dir) give(temp, name string, replace bool) error {
	flags := uint(unix.RENAME_NOREPLACE)
	if replace {
		switch st, err := d.Lstat(name); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case st.Mode&unix.S_IFMT != unix.S_IFREG:
			return d.fail("rename", name, fmt.Errorf("it exists and is no regular file: %w", fs.ErrExist))
		default:
			flags = 0
		}
	}
	return d.Rename(temp, d, name, flags)
}

// Scratch makes a file without a name, for reading and writing.
func (d *Dir) Scratch() (*os.File, error) {
	if f, err := d.openBelow(".", unix.O_RDWR|unix.O_TMPFILE, 0o600); err == nil {
		return f, nil
	}
	// Not every file system makes files without a name.
	name := Temporary + rand.Text()
	f, err := d.Exclusive(name, 0o600)
	if err != nil {
		return nil, err
	}
	if err := d.Remove(name, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
