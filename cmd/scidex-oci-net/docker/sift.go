package docker

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// sift removes from kept, the directory that a run left, what is not put back, and returns a line for each. No process of the run is
// left that could change it.
func (l layout) sift(root *os.Root) (left []string, err error) {
	mask := unix.Umask(0)
	unix.Umask(mask)
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() {
			return open(root, name, d, fs.FileMode(mask)) //nolint:gosec // a umask has 9 bits
		}
		line, err := l.special(root, name, d)
		if line != "" {
			left = append(left, line)
		}
		return err
	})
	return left, err
}

// open lets all whom the caller's umask permits read an entry: the next step has an id of its own.
func open(root *os.Root, name string, d fs.DirEntry, mask fs.FileMode) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() | 0o444&^mask
	if d.IsDir() {
		mode |= 0o111 &^ mask
	}
	return root.Chmod(name, mode)
}

// special removes an entry that is no file and no directory, unless it is a link in the output directory, or to an input, which then
// names the host's file. It returns what to say.
func (l layout) special(root *os.Root, name string, d fs.DirEntry) (string, error) {
	if d.Type()&fs.ModeSymlink == 0 {
		return fmt.Sprintf("%q is not put back: it is no file, directory or link", name), root.Remove(name)
	}
	if _, err := root.Stat(name); err == nil { // what leads out is an error
		return "", nil
	}
	to, err := root.Readlink(name)
	if err != nil {
		return "", err
	}
	if err := root.Remove(name); err != nil {
		return "", err
	}
	if to = l.outside(root, name, to); to != "" {
		return "", root.Symlink(to, name)
	}
	return fmt.Sprintf("%q is not put back: it is a link that leads out of the output directory and to no input", name), nil
}

// outside is the path outside for that of a link, an absolute one inside: in the output directory, or in an input.
func (l layout) outside(root *os.Root, link, to string) string {
	if rest, ok := below(l.out.target, path.Clean(to)); ok {
		if _, err := root.Stat(rest); err == nil {
			up, _ := filepath.Rel(filepath.Dir(link), rest)
			return up
		}
	}
	for _, b := range l.inputs {
		if path.Clean(to) == b.target {
			return b.source
		}
		rest, ok := below(b.target, path.Clean(to))
		if !ok {
			continue
		}
		if has(b.source, rest) {
			return filepath.Join(b.source, rest)
		}
	}
	return ""
}

// has reports whether an input has something at a path, to whom its directory belongs.
func has(source, at string) bool {
	d, err := userdir.Open(source)
	if err != nil {
		return false
	}
	defer d.Close()
	root, err := d.Root()
	if err != nil {
		return false
	}
	defer root.Close()
	return d.Do(func() error {
		_, err := root.Stat(at)
		return err
	}) == nil
}
