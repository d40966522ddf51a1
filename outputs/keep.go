package outputs

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
)

// Own makes every entry below dir, but not dir itself, an ordinary file of uid and gid: it removes set-id and sticky bits
// and adds u+rw (for directories u+rwx). Symlinks change their owner and are not followed. A file with names outside of dir
// is replaced by a copy. The caller must be allowed to change every other owner that occurs. If ingest is not nil it is the
// directory that dir was harvested into: files get their modes from before the harvest.
func Own(ctx context.Context, dir *os.File, uid, gid int, ingest *os.File) error {
	mode := keptMode
	if ingest != nil {
		noted, err := readModes(ingest)
		if err != nil {
			return fmt.Errorf("own: %w", err)
		}
		mode = func(st *unix.Stat_t) uint32 {
			before := *st
			noted.original(&before)
			return keptMode(&before)
		}
	}
	w, err := newWalk(dir)
	if err != nil {
		return fmt.Errorf("own: %w", err)
	}
	defer w.close()
	o := newOwning(w, Owner{uid, gid}, mode)
	if err := o.run(ctx, o.entry); err != nil {
		return fmt.Errorf("own: %w", err)
	}
	if !o.shared() {
		return nil
	}
	if err := o.walk.rewind(); err != nil {
		return fmt.Errorf("own: %w", err)
	}
	o.copier = newCopier()
	if err := o.run(ctx, func(name string) error { return o.separate(ctx, name) }); err != nil {
		return fmt.Errorf("own: %w", err)
	}
	return nil
}

// Protect removes the write permission from dir and everything below it, which must be the caller's own. Nothing else
// may change it during the call.
func Protect(ctx context.Context, dir *os.File) error {
	w, err := newWalk(dir)
	if err != nil {
		return fmt.Errorf("protect: %w", err)
	}
	defer w.close()
	o := newOwning(w, Owner{os.Geteuid(), os.Getegid()}, readOnlyMode)
	if err := o.run(ctx, o.entry); err != nil {
		return fmt.Errorf("protect: %w", err)
	}
	if err := unix.Fchmod(int(dir.Fd()), 0o500); err != nil {
		return fmt.Errorf("protect: %w", err)
	}
	return nil
}

// Owner is a pair of numeric ids as the calling process sees them.
type Owner struct{ UID, GID int }

type owning struct {
	walk  *walk
	owner Owner
	mode  func(*unix.Stat_t) uint32
	// once are inodes with two names, one of them found; names is how many names are still missing of those with
	// more. After a failed harvest each file can have a second one, that of its blob.
	once  inodes
	names map[fileID]uint64
	// copier is of the second walk, which copies files with names outside.
	copier *copier
}

func newOwning(w *walk, owner Owner, mode func(*unix.Stat_t) uint32) *owning {
	return &owning{walk: w, owner: owner, mode: mode, once: make(inodes), names: make(map[fileID]uint64)}
}

func (o *owning) run(ctx context.Context, entry func(name string) error) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, ok, err := o.walk.next()
		switch {
		case err != nil:
			return fmt.Errorf("read \"%s\": %w", Escape(o.walk.path), err)
		case ok:
			if err := entry(name); err != nil {
				return fmt.Errorf("\"%s\": %w", Escape(o.walk.join(name)), err)
			}
		case o.walk.depth() == 0:
			return nil
		default:
			if err := o.walk.leave(); err != nil {
				return err
			}
		}
	}
}

func (o *owning) entry(name string) error {
	dir := o.walk.fd()
	st, err := lstatAt(dir, name)
	if err != nil {
		return err
	}
	if !o.inside(st) {
		return nil
	}
	if int(st.Uid) != o.owner.UID || int(st.Gid) != o.owner.GID {
		if err := unix.Fchownat(dir, name, o.owner.UID, o.owner.GID, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if want := o.mode(st); want != st.Mode&0o7777 {
		if err := chmodSame(dir, name, st, want); err != nil {
			return err
		}
	}
	if kind(st) == unix.S_IFDIR {
		return o.walk.enter(name, st)
	}
	return nil
}

// inside reports, at the last name of an inode, that all its names are below dir.
func (o *owning) inside(st *unix.Stat_t) bool {
	if kind(st) == unix.S_IFDIR || st.Nlink < 2 {
		return true
	}
	id := identity(st)
	if st.Nlink == 2 {
		if o.once.add(id) {
			return false
		}
		o.once.remove(id)
		return true
	}
	left, seen := o.names[id]
	if !seen {
		left = uint64(st.Nlink)
	}
	if left > 1 {
		o.names[id] = left - 1
		return false
	}
	delete(o.names, id)
	return true
}

// shared reports, after the first walk, whether there are files with names outside.
func (o *owning) shared() bool { return len(o.once) > 0 || len(o.names) > 0 }

// outside reports, after the first walk, whether a file has names outside.
func (o *owning) outside(st *unix.Stat_t) bool {
	_, several := o.names[identity(st)]
	return several || o.once.has(identity(st))
}

func keptMode(st *unix.Stat_t) uint32 {
	if kind(st) == unix.S_IFDIR {
		return st.Mode&0o777 | 0o700
	}
	return st.Mode&0o777 | 0o600
}

func readOnlyMode(st *unix.Stat_t) uint32 { return keptMode(st) &^ 0o222 }

// Lift flattens a kept run: it moves all entries of work, which is the directory name in parent, up into parent, and removes
// the symlinks of links (name to exact target) and work. Nothing in parent is replaced: an existing name is an error. work
// and parent must not be changed by anyone else.
func Lift(work, parent *os.File, name string, links map[string]string) error {
	if err := lift(work, parent, name, links); err != nil {
		return fmt.Errorf("lift \"%s\": %w", Escape([]byte(name)), err)
	}
	return nil
}

func lift(work, parent *os.File, name string, links map[string]string) error {
	up := int(parent.Fd())
	if err := sameDir(work, up, name); err != nil {
		return err
	}
	w, err := newWalk(work)
	if err != nil {
		return err
	}
	defer w.close()
	for again := true; again; { // moving invalidates the reading position
		again, err = liftPass(w, up, name, links)
		if err == nil && again {
			err = w.rewind()
		}
		if err != nil {
			return err
		}
	}
	return liftSelf(w, up, name)
}

// sameDir checks that name in parent is the directory work.
func sameDir(work *os.File, parent int, name string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(work.Fd()), &st); err != nil {
		return err
	}
	fd, err := openSame(parent, name, &st, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// liftPass moves everything but an entry with work's own name, and reports whether it moved any.
func liftPass(w *walk, parent int, work string, links map[string]string) (moved bool, err error) {
	for {
		name, ok, err := w.next()
		if !ok || err != nil {
			return moved, err
		}
		if name == work {
			continue
		}
		if target, ok := links[name]; ok {
			if to, err := beneath.Readlink(w.fd(), name); err == nil && to == target {
				if err := unix.Unlinkat(w.fd(), name, 0); err != nil {
					return moved, err
				}
				moved = true
				continue
			}
		}
		if err := unix.Renameat2(w.fd(), name, parent, name, unix.RENAME_NOREPLACE); err != nil {
			return moved, fmt.Errorf("move \"%s\": %w", Escape([]byte(name)), err)
		}
		moved = true
	}
}

// liftSelf removes the emptied directory. If it still holds an entry of its own name, it is renamed first.
func liftSelf(w *walk, parent int, name string) error {
	err := unix.Unlinkat(parent, name, unix.AT_REMOVEDIR)
	if err != unix.ENOTEMPTY && !errors.Is(err, unix.EEXIST) {
		return err
	}
	temp := ".lift-" + rand.Text()
	if err := unix.Renameat2(parent, name, parent, temp, unix.RENAME_NOREPLACE); err != nil {
		return err
	}
	if err := unix.Renameat2(w.fd(), name, parent, name, unix.RENAME_NOREPLACE); err != nil {
		// It still holds something that was not listed, so it gets back the name that a user expects.
		return errors.Join(err, unix.Renameat2(parent, temp, parent, name, unix.RENAME_NOREPLACE))
	}
	return unix.Unlinkat(parent, temp, unix.AT_REMOVEDIR)
}
