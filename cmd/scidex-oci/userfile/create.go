package userfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// NewFile is a file that a command makes where the user says. Its directory is opened when it is named, and Put writes to that one.
type NewFile struct {
	dir        *userdir.Dir
	path, name string
	replace    bool
	mode       fs.FileMode // under the umask
}

// Create refuses a path where no file can be made, or where something is, unless that is a regular file and is to be replaced. Put
// makes the file.
func Create(path string, replace bool, mode fs.FileMode) (*NewFile, error) {
	dir, name, err := userdir.Parent(path)
	switch {
	case errors.Is(err, unix.EISDIR):
		return nil, fmt.Errorf("%s is a directory and no regular file; name another", path)
	case err != nil:
		return nil, userdir.NoParent("file", path, err)
	}
	f := &NewFile{dir, path, name, replace, mode}
	if err := f.check(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return f, nil
}

func (f *NewFile) check() error {
	switch st, err := f.dir.Lstat(f.name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return userdir.CannotMake("file", f.path, err)
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return fmt.Errorf("%s exists and is no regular file; name another", f.path)
	case !f.replace:
		return f.taken()
	}
	scratch, err := f.Scratch()
	if err != nil {
		return userdir.CannotMake("file", f.path, err)
	}
	return scratch.Close()
}

func (f *NewFile) taken() error {
	return fmt.Errorf("%s exists already; name another file, or use --overwrite", f.path)
}

// Scratch is a file without a name in the directory, for the caller to close.
func (f *NewFile) Scratch() (*os.File, error) { return f.dir.Scratch() }

// Put writes the file, whole or not at all. A power cut may take it, and leaves no part of it under its name. It is called once.
func (f *NewFile) Put(write func(io.Writer) error) (err error) {
	defer func() { err = errors.Join(err, f.dir.Close()) }()
	err = f.dir.Write(f.name, f.replace, f.mode, func(to *os.File) error { return errors.Join(write(to), to.Sync()) })
	if !f.replace && errors.Is(err, fs.ErrExist) {
		return f.taken()
	}
	return err
}
