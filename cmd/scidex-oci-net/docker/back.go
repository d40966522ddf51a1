package docker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
)

// takePlace gives the output directory the contents of kept, which it removes. A file that was written outside since, or that the run
// left as it was, stays the same inode: an engine may write the run's output to it.
func (o *output) takePlace(ctx context.Context, kept *userdir.Dir) error {
	if err := o.remaining(); err != nil {
		return err
	}
	stay, err := o.stay(kept)
	if err != nil {
		return err
	}
	back, err := o.give(ctx, kept)
	if err != nil {
		return err
	}
	if err := errors.Join(o.replace(ctx, kept, stay), back()); err != nil {
		return err
	}
	return discard(ctx, kept)
}

// replace removes what does not stay, and moves all of kept there.
func (o *output) replace(ctx context.Context, kept *userdir.Dir, stay map[string]bool) error {
	from, copied, err := o.bring(ctx, kept)
	if err != nil {
		return err
	}
	err = clear(ctx, o.dir, "", stay, copied)
	if err == nil {
		err = move(from, o.dir, "", stay)
	}
	if copied != "" {
		err = errors.Join(err, from.Close(), remove(ctx, o.dir, copied))
	}
	return err
}

// stay lists the files of the output directory that stay what they are, and the directories above them.
func (o *output) stay(kept *userdir.Dir) (map[string]bool, error) {
	root, err := kept.Root()
	if err != nil {
		return nil, err
	}
	defer root.Close()
	stay := map[string]bool{}
	return stay, walk(o.dir, "", func(in *userdir.Dir, name, at string, st unix.Stat_t) error {
		if regular(st) && (o.written(at, st) || same(in, name, root, at)) {
			for ; at != "."; at = path.Dir(at) {
				stay[at] = true
			}
		}
		return nil
	})
}

// written reports whether a file was written outside since before the run.
func (o *output) written(at string, now unix.Stat_t) bool {
	before, known := o.before[at]
	return !known || before.Dev != now.Dev || before.Ino != now.Ino || before.Size != now.Size || before.Mtim != now.Mtim
}

// same reports whether a file of a run has the contents of one outside, which gets its mode then.
func same(in *userdir.Dir, name string, kept *os.Root, at string) bool {
	info, err := kept.Lstat(at)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	outside, err := in.Read(name)
	if err != nil {
		return false
	}
	defer outside.Close()
	inside, err := kept.Open(at)
	if err != nil {
		return false
	}
	defer inside.Close()
	if !sameContents(outside, inside) {
		return false
	}
	_ = in.Do(func() error { return outside.Chmod(info.Mode().Perm()) }) // fails for a file of another user
	return true
}

func sameContents(x, y io.Reader) bool {
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

// give makes all of kept that of the user with whose rights root works in the output directory: what follows needs no others. back
// takes the directory itself back.
func (o *output) give(ctx context.Context, kept *userdir.Dir) (back func() error, err error) {
	uid, gid, other := o.dir.Owner()
	if !other {
		return func() error { return nil }, nil
	}
	f, err := kept.File()
	if err != nil {
		return nil, err
	}
	if err = outputs.Own(ctx, f, uid, gid, nil); err == nil {
		err = f.Chown(uid, gid)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error { return errors.Join(f.Chown(os.Geteuid(), os.Getegid()), f.Close()) }, nil
}

// bring returns a directory whose entries can be moved into the output directory: kept, or a copy of it that is made there, and then
// its name. If the copy fails, nothing has changed.
func (o *output) bring(ctx context.Context, kept *userdir.Dir) (from *userdir.Dir, copied string, err error) {
	fresh, name, err := o.temporary()
	if err != nil {
		return nil, "", err
	}
	if err := o.dir.Rename(name, kept, name, 0); err == nil { // so do entries of kept
		return kept, "", errors.Join(fresh.Close(), remove(ctx, kept, name))
	}
	if err := o.carry(ctx, kept, fresh); err != nil {
		return nil, "", errors.Join(err, fresh.Close(), remove(ctx, o.dir, name))
	}
	return fresh, name, nil
}

func (o *output) carry(ctx context.Context, kept, fresh *userdir.Dir) error {
	from, err := kept.File()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := fresh.File()
	if err != nil {
		return err
	}
	defer to.Close()
	return o.dir.Do(func() error {
		left, err := outputs.Carry(ctx, from, to, outputs.Bounds{})
		if err == nil && len(left) > 0 {
			err = fmt.Errorf("%q: %s", left[0].Path, left[0].Rejected)
		}
		return err
	})
}

// clear removes what is in a directory, but for what stays and one entry more.
func clear(ctx context.Context, d *userdir.Dir, at string, stay map[string]bool, but string) error {
	names, err := d.Names(0)
	if err != nil {
		return err
	}
	for _, name := range names {
		below := path.Join(at, name)
		switch st, err := d.Lstat(name); {
		case below == but:
		case !stay[below]:
			if err := remove(ctx, d, name); err != nil {
				return err
			}
		case err == nil && directory(st):
			if err := within(d, name, func(sub *userdir.Dir) error { return clear(ctx, sub, below, stay, but) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// move moves the entries of a directory to another one, with the rights of that. What stays there is not replaced.
func move(from, to *userdir.Dir, at string, stay map[string]bool) error {
	names, err := from.Names(0)
	if err != nil {
		return err
	}
	for _, name := range names {
		below := path.Join(at, name)
		if !stay[below] {
			if err := to.Do(func() error { return from.Rename(name, to, name, 0) }); err != nil {
				return err
			}
			continue
		}
		old, err := to.Lstat(name)
		if err != nil {
			return err
		}
		fresh, err := from.Lstat(name)
		if err != nil {
			return err
		}
		if !directory(old) || !directory(fresh) {
			continue
		}
		err = within(from, name, func(from *userdir.Dir) error {
			return within(to, name, func(to *userdir.Dir) error {
				return errors.Join(move(from, to, below, stay), chmod(to, os.FileMode(fresh.Mode).Perm()))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// chmod sets the mode of a directory, if it is the caller's.
func chmod(d *userdir.Dir, mode os.FileMode) error {
	f, err := d.File()
	if err != nil {
		return err
	}
	defer f.Close()
	_ = d.Do(func() error { return f.Chmod(mode) }) // fails for one of another user
	return nil
}

// discard removes the directory that a run left.
func discard(ctx context.Context, kept *userdir.Dir) error {
	f, err := kept.File()
	if err != nil {
		return err
	}
	defer f.Close()
	if err := outputs.Empty(ctx, f); err != nil {
		return err
	}
	above, err := userdir.Open(filepath.Dir(kept.Path()))
	if err != nil {
		return err
	}
	return errors.Join(above.Remove(filepath.Base(kept.Path()), f), above.Close())
}
