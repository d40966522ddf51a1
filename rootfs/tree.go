// Package rootfs makes root filesystems for runs. A Tree describes one; Host makes the tree of the host's programs,
// Directory that of an unpacked image.
package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Tree is the plan of a root filesystem: its binds, and what is made in it. All paths are absolute and as seen inside;
// only Bind.Source is a path of the host.
type Tree struct {
	// Binds are mounted read-only, in this order.
	Binds []Bind
	// Dirs precede their contents. Unlisted parents are made with mode 0755.
	Dirs  []Dir
	Links []Link
	Files []File
	// Run are files of the run, not of the root filesystem, whose digest leaves them out.
	Run []File `json:",omitempty"`
	// Base is a host directory, shown read-only wherever the tree has no entry; empty: none. Nothing shows of its
	// Hidden directories, which are in Dirs too.
	Base   string   `json:",omitempty"`
	Hidden []string `json:",omitempty"`
}

// Bind shows a file or directory of the host.
type Bind struct {
	Source      string
	Destination string
	IsDir       bool
}

// Dir is a directory to make.
type Dir struct {
	Path string
	Mode fs.FileMode // permission bits
}

// Link is a symbolic link to make.
type Link struct{ Path, Target string }

// File is a small file to make.
type File struct {
	Path string
	Data []byte
	Mode fs.FileMode // permission bits
}

const (
	dirMode  fs.FileMode = 0o755
	fileMode fs.FileMode = 0o444
)

// Populate makes the tree in dir, an existing empty directory that no one else can write to: its directories, files and
// links, and mount points for its binds, which it does not mount. dir gets mode 0755, since the analysis must be able to
// search its "/"; its parents must keep others out.
func (t Tree) Populate(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("populate root filesystem: %w", err)
	}
	defer root.Close()
	if err := t.populate(root); err != nil {
		return fmt.Errorf("populate root filesystem %s: %w", dir, err)
	}
	return nil
}

func (t Tree) populate(root *os.Root) error {
	if err := root.Chmod(".", dirMode); err != nil {
		return err
	}
	for _, d := range t.Dirs {
		if err := makeDir(root, d.Path, d.Mode); err != nil {
			return err
		}
	}
	for _, b := range t.Binds {
		if err := mountPoint(root, b.Destination, b.IsDir); err != nil {
			return err
		}
	}
	if err := t.makeFiles(root); err != nil {
		return err
	}
	for _, l := range t.Links {
		if err := makeLink(root, l); err != nil {
			return err
		}
	}
	return nil
}

// makeFiles writes the files. It makes a directory once for consecutive files in it, since few directories have many files.
func (t Tree) makeFiles(root *os.Root) error {
	parent := "."
	for _, f := range slices.Concat(t.Files, t.Run) {
		name, err := inside(f.Path)
		if dir := filepath.Dir(name); err == nil && dir != parent {
			_, err = makeParent(root, f.Path)
			parent = dir
		}
		if err == nil {
			err = writeFile(root, name, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// MountPoint makes a directory or an empty file at destination in the populated root filesystem dir, an absolute path as
// seen inside. An existing one must be of that kind. Symbolic links in the path are refused.
func MountPoint(dir, destination string, isDir bool) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("mount point %q: %w", destination, err)
	}
	defer root.Close()
	if err := mountPoint(root, destination, isDir); err != nil {
		return fmt.Errorf("mount point %q: %w", destination, err)
	}
	return nil
}

func mountPoint(root *os.Root, destination string, isDir bool) error {
	if isDir {
		return makeDir(root, destination, dirMode)
	}
	err := makeFile(root, File{Path: destination, Mode: fileMode})
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	name, err := inside(destination)
	if err != nil {
		return err
	}
	info, err := root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is a %s and no regular file", destination, kind(info))
	}
	return err
}

// makeDir makes a directory and its parents; they may exist. It sets the mode separately, so that the umask has no
// effect.
func makeDir(root *os.Root, path string, mode fs.FileMode) error {
	name, err := inside(path)
	if err != nil {
		return err
	}
	steps := strings.Split(name, "/")
	for i := range steps {
		step := filepath.Join(steps[:i+1]...)
		if err := root.Mkdir(step, dirMode); errors.Is(err, fs.ErrExist) {
			if err := isDirectory(root, step); err != nil {
				return err
			}
			continue
		} else if err != nil {
			return err
		}
		stepMode := dirMode
		if i == len(steps)-1 {
			stepMode = mode
		}
		if err := root.Chmod(step, stepMode); err != nil {
			return err
		}
	}
	return nil
}

func isDirectory(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("/%s is a %s and no directory", name, kind(info))
	}
	return err
}

func makeFile(root *os.Root, f File) error {
	name, err := makeParent(root, f.Path)
	if err != nil {
		return err
	}
	return writeFile(root, name, f)
}

func writeFile(root *os.Root, name string, f File) error {
	file, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Data)
	return errors.Join(err, file.Chmod(f.Mode), file.Close())
}

func makeLink(root *os.Root, l Link) error {
	name, err := makeParent(root, l.Path)
	if err != nil {
		return err
	}
	return root.Symlink(l.Target, name)
}

func makeParent(root *os.Root, path string) (string, error) {
	name, err := inside(path)
	if err != nil {
		return "", err
	}
	if parent := filepath.Dir(name); parent != "." {
		return name, makeDir(root, "/"+parent, dirMode)
	}
	return name, nil
}

// inside returns an absolute path of the tree relative to its root.
func inside(path string) (string, error) {
	name, ok := strings.CutPrefix(path, "/")
	if !ok || name == "" || slices.Contains(strings.Split(path, "/"), "..") || filepath.Clean(path) != path {
		return "", fmt.Errorf("path %q is not an absolute, clean path below /", path)
	}
	return name, nil
}

func kind(info fs.FileInfo) string {
	switch {
	case info.IsDir():
		return "directory"
	case info.Mode()&fs.ModeSymlink != 0:
		return "symbolic link"
	case info.Mode().IsRegular():
		return "regular file"
	default:
		return "special file"
	}
}
