package dockercmd

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// sift removes from kept, the directory that a run left, what is not put back, and returns a line for each. No process of the run is
// left that could change it meanwhile.
func (l layout) sift(kept string) (left []string, err error) {
	root, err := os.OpenRoot(kept)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	mask := unix.Umask(0)
	unix.Umask(mask)
	err = filepath.WalkDir(kept, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() || d.Type().IsRegular() {
			return open(name, d, fs.FileMode(mask)) //nolint:gosec // a umask has 9 bits
		}
		line, err := l.special(root, name, d)
		if line != "" {
			left = append(left, line)
		}
		return err
	})
	if err != nil {
		return left, err
	}
	return left, nil
}

// open lets all whom the caller's umask permits read an entry: the next step has an id of its own.
func open(name string, d fs.DirEntry, mask fs.FileMode) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	mode := info.Mode().Perm() | 0o444&^mask
	if d.IsDir() {
		mode |= 0o111 &^ mask
	}
	return os.Chmod(name, mode)
}

// special removes an entry that is no file and no directory, unless it is a link in the output directory, or to an input, which then
// names the host's file. It returns what to say.
func (l layout) special(root *os.Root, name string, d fs.DirEntry) (string, error) {
	rest, err := filepath.Rel(root.Name(), name)
	if err != nil {
		return "", err
	}
	if d.Type()&fs.ModeSymlink == 0 {
		return fmt.Sprintf("%q is not put back: it is no file, directory or link", rest), os.Remove(name)
	}
	if _, err := root.Stat(rest); err == nil { // what leads out is an error
		return "", nil
	}
	to, err := os.Readlink(name)
	if err != nil {
		return "", err
	}
	if err := os.Remove(name); err != nil {
		return "", err
	}
	if to = l.outside(root, rest, to); to != "" {
		return "", os.Symlink(to, name)
	}
	return fmt.Sprintf("%q is not put back: it is a link that leads out of the output directory and to no input", rest), nil
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
		if in, err := os.OpenRoot(b.source); err == nil {
			defer in.Close()
			if _, err := in.Stat(rest); err == nil {
				return filepath.Join(b.source, rest)
			}
		}
	}
	return ""
}
