package rootfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ownDirs belong to every run, whatever the root filesystem has there.
var ownDirs = [...]string{
	"/analysis", "/data", "/dev", "/docs", "/home", "/inputs", "/proc", "/run", "/sys", "/tmp", "/work",
}

// Directory plans a root filesystem from an unpacked directory: an image, or the output of debootstrap(8). dir is
// absolute. All of it shows except what every run has of its own: ownDirs, /var/tmp, and the files of /etc that name
// accounts, hosts and the time zone. uid is that of the user and group "analysis" inside.
//
// Nothing in the directory is followed or read, except to see whether it has a gitconfig: additions lie above it, so
// that its links cannot redirect what is made or mounted.
func Directory(dir string, uid uint32) (Tree, error) {
	info, err := os.Lstat(dir)
	if err != nil {
		return Tree{}, fmt.Errorf("root filesystem: %w", err)
	}
	if !info.IsDir() {
		return Tree{}, fmt.Errorf("root filesystem: %s is a %s and no directory", dir, kind(info))
	}
	tree := Tree{
		Base: dir, Hidden: ownDirs[:], Files: accountFiles(uid),
		// Without zone files the C library uses UTC, as it does for a dangling link.
		Links: []Link{{"/var/tmp", "/tmp"}, {"/etc/localtime", utc}},
	}
	if root, err := os.OpenRoot(dir); err == nil {
		if _, err := root.Lstat("etc/gitconfig"); err != nil { // its own would be hidden
			tree.Run = []File{gitConfig()}
		}
		root.Close()
	}
	for _, p := range slices.Concat(ownDirs[:], []string{"/etc", "/home/analysis", "/var"}) {
		tree.Dirs = append(tree.Dirs, Dir{Path: p, Mode: dirMode})
	}
	return tree, nil
}

// Veil makes in dir, an existing empty directory, the layer between that of Populate and the Base of an overlay (the
// kernel's overlayfs.rst): a file for each Hidden directory. overlayfs merges a directory with lower ones down to the
// first layer with a non-directory of that name.
func (t Tree) Veil(dir string) error {
	veil := Tree{}
	for _, p := range t.Hidden {
		veil.Files = append(veil.Files, File{Path: p, Mode: fileMode})
	}
	return veil.Populate(dir)
}

// CheckMountPoint refuses a destination at which the Base has another kind of file than the mount: a mount hides what
// is below it, and must not hide a link that the root filesystem relies on.
func (t Tree) CheckMountPoint(destination string, isDir bool) error {
	if t.Base == "" || t.hides(destination) {
		return nil
	}
	name, err := inside(destination)
	if err != nil {
		return err
	}
	base, err := os.OpenRoot(t.Base)
	if err != nil {
		return err
	}
	defer base.Close()
	steps := strings.Split(name, "/")
	for i := range steps {
		step := path.Join(steps[:i+1]...)
		info, err := base.Lstat(step)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if wantDir := isDir || i < len(steps)-1; wantDir && !info.IsDir() || !wantDir && !info.Mode().IsRegular() {
			return fmt.Errorf("the root filesystem has a %s at /%s", kind(info), step)
		}
	}
	return nil
}

// CheckFresh refuses a destination that the Base has, or that is in a directory of the Base that not all may list and
// search: what is made above that directory would be open to all.
func (t Tree) CheckFresh(destination string) error {
	if err := t.CheckMountPoint(destination, true); t.Base == "" || t.hides(destination) || err != nil {
		return err
	}
	base, err := os.OpenRoot(t.Base)
	if err != nil {
		return err
	}
	defer base.Close()
	steps := strings.Split(strings.TrimPrefix(destination, "/"), "/")
	for i := range steps {
		step := path.Join(steps[:i+1]...)
		info, err := base.Lstat(step)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case i == len(steps)-1:
			return fmt.Errorf("the root filesystem has a %s there", kind(info))
		case info.Mode()&0o005 != 0o005:
			return fmt.Errorf("the root filesystem has a directory at /%s that not all may search", step)
		}
	}
	return nil
}

// hides reports whether the Base is hidden at p.
func (t Tree) hides(p string) bool {
	return slices.ContainsFunc(t.Hidden, func(dir string) bool { return p == dir || strings.HasPrefix(p, dir+"/") })
}
