package dockercmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// takePlace gives the output directory the contents of kept, which it removes. A file that was written outside meanwhile, or that the run
// left as it was, stays the same inode: an engine may write the run's output to it.
func (s seen) takePlace(ctx context.Context, kept, dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if now, err := root.Stat("."); err != nil || !os.SameFile(now, s.dir) {
		return errors.Join(err, errors.New("another directory has taken its place meanwhile"))
	}
	stay, err := s.stay(root, kept)
	if err != nil {
		return err
	}
	held, err := newAside(root)
	if err != nil {
		return err
	}
	if err = held.take(stay); err == nil {
		err = replace(ctx, kept, dir, held.name)
	}
	if err = errors.Join(err, held.giveBack()); err != nil { // also after an error: these files are not the run's
		return err
	}
	return os.RemoveAll(kept)
}

// stay lists the files of the output directory that stay what they are.
func (s seen) stay(root *os.Root, kept string) (names []string, err error) {
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		now, err := d.Info()
		if err == nil && (s.written(name, now) || same(filepath.Join(root.Name(), name), filepath.Join(kept, name))) {
			names = append(names, name)
		}
		return nil
	})
	return names, err
}

// written reports whether a file was written outside since before the run.
func (s seen) written(name string, now fs.FileInfo) bool {
	before, known := s.files[name]
	return !known || !os.SameFile(before, now) || before.Size() != now.Size() || !before.ModTime().Equal(now.ModTime())
}

// same reports whether a file of a run has the contents of one outside, which gets its mode then.
func same(outside, kept string) bool {
	info, err := os.Lstat(kept)
	if err != nil || !info.Mode().IsRegular() || !sameContents(outside, kept) {
		return false
	}
	_ = os.Chmod(outside, info.Mode().Perm()) // fails for a file of another user
	return true
}

func sameContents(a, b string) bool {
	x, err := os.Open(a)
	if err != nil {
		return false
	}
	defer x.Close()
	y, err := os.Open(b)
	if err != nil {
		return false
	}
	defer y.Close()
	var p, q [64 << 10]byte
	for {
		n, err := io.ReadFull(x, p[:])
		m, _ := io.ReadFull(y, q[:])
		if !bytes.Equal(p[:n], q[:m]) {
			return false
		}
		if err != nil {
			return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		}
	}
}

// clear makes a place for a file: what the run left there, or in place of a directory above, is removed.
func clear(root *os.Root, name string) error {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := root.Lstat(dir); err == nil && !info.IsDir() {
			if err := root.Remove(dir); err != nil {
				return err
			}
		}
	}
	return errors.Join(root.RemoveAll(name), root.MkdirAll(path.Dir(name), 0o777))
}

// replace empties dir, but for one entry, and moves all entries of kept there, or copies them from another file system.
func replace(ctx context.Context, kept, dir, but string) error {
	old, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, entry := range old {
		if entry.Name() == but {
			continue
		}
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
