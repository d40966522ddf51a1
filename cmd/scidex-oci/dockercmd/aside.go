package dockercmd

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strconv"
)

// aside is a directory in another one that holds some of its files while the rest is replaced. It is on the same file system, so that
// they stay the same inodes.
type aside struct {
	root  *os.Root
	name  string
	files []string // their paths in root
}

func newAside(root *os.Root) (*aside, error) {
	dir, err := os.MkdirTemp(root.Name(), ".scidex-oci-")
	return &aside{root: root, name: filepath.Base(dir)}, err
}

func (a *aside) place(i int) string { return path.Join(a.name, strconv.Itoa(i)) }

// take moves files there.
func (a *aside) take(names []string) error {
	for i, name := range names {
		if err := a.root.Rename(name, a.place(i)); err != nil {
			return err
		}
		a.files = append(a.files, name)
	}
	return nil
}

// giveBack moves the files to their places, where they take the place of what is there, and removes the directory.
func (a *aside) giveBack() (err error) {
	for i, name := range a.files {
		err = errors.Join(err, clear(a.root, name), a.root.Rename(a.place(i), name))
	}
	return errors.Join(err, a.root.Remove(a.name))
}
