package dockercmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// fill copies the inputs that are shown in the output directory into it, and refuses an output directory with anything but files
// and directories: nothing else is copied into a run, and it would be gone in the end.
func (l layout) fill() error {
	if l.out == nil {
		return nil
	}
	for _, b := range l.into {
		rest, _ := below(l.out.target, b.target)
		if err := copyTo(b.source, filepath.Join(l.out.source, rest)); err != nil {
			return fmt.Errorf("input %q in the output directory: %w", b.source, err)
		}
	}
	return filepath.WalkDir(l.out.source, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !d.Type().IsRegular() {
			return fmt.Errorf("%q in the output directory is no file and no directory; take it away", name)
		}
		return err
	})
}

// copyTo copies a file or a directory. What is there already as the place of a mount is replaced.
func copyTo(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(target), os.MkdirAll(filepath.Dir(target), 0o777)); err != nil { //nolint:gosec // by the umask
		return err
	}
	if info.IsDir() {
		return os.CopyFS(target, os.DirFS(source))
	}
	return copyFile(source, target, info.Mode().Perm())
}

func copyFile(source, target string, mode fs.FileMode) error {
	from, err := os.Open(source)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode|0o200)
	if err != nil {
		return err
	}
	_, err = to.ReadFrom(from)
	return errors.Join(err, to.Close())
}

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

// takePlace gives the output directory the contents of kept, which it removes. Files there that are the caller's standard output or
// error stay the same: an engine has opened them before.
func takePlace(ctx context.Context, kept, dir string) error {
	if err := moveStreams(dir, kept); err != nil {
		return err
	}
	if err := replace(ctx, kept, dir); err != nil {
		return err
	}
	return os.RemoveAll(kept)
}

func moveStreams(dir, kept string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !isStream(d) {
			return err
		}
		rest, err := filepath.Rel(dir, name)
		if err != nil {
			return err
		}
		target := filepath.Join(kept, rest)
		if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
			return err
		}
		err = os.Rename(name, target)
		if errors.Is(err, unix.EXDEV) {
			return copyTo(name, target)
		}
		return err
	})
}

// isStream reports whether a file is this process' standard output or error.
func isStream(d fs.DirEntry) bool {
	info, err := d.Info()
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	return slices.ContainsFunc([]*os.File{os.Stdout, os.Stderr}, func(f *os.File) bool {
		ours, err := f.Stat()
		return err == nil && os.SameFile(ours, info)
	})
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

// replace empties dir and moves all entries of kept there, or copies them from another file system.
func replace(ctx context.Context, kept, dir string) error {
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range old {
		if err := os.RemoveAll(filepath.Join(dir, entry.Name())); err != nil {
			return err
		}
	}
	fresh, err := os.ReadDir(kept)
	if err != nil {
		return err
	}
	for _, entry := range fresh {
		err := os.Rename(filepath.Join(kept, entry.Name()), filepath.Join(dir, entry.Name()))
		if errors.Is(err, unix.EXDEV) {
			return carry(ctx, kept, dir)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func carry(ctx context.Context, kept, dir string) error {
	from, err := os.Open(kept)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer to.Close()
	left, err := outputs.Carry(ctx, from, to, outputs.Bounds{})
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%q: %s", left[0].Path, left[0].Rejected)
	}
	return err
}
