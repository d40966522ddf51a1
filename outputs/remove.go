package outputs

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Empty removes everything below dir, at any depth and with any permissions, but not dir itself. It never leaves dir: a
// symlink is removed and not followed, and another file system mounted below is an error. It removes what it can even if
// something else fails; the error then names the first entry that stayed.
func Empty(ctx context.Context, dir *os.File) error {
	if err := grantDir(dir); err != nil {
		return fmt.Errorf("empty: %w", err)
	}
	w, err := newWalk(dir)
	if err != nil {
		return fmt.Errorf("empty: %w", err)
	}
	defer w.close()
	e := &emptying{walk: w, gone: []int{0}}
	if err := e.run(ctx); err != nil {
		return fmt.Errorf("empty: %w", err)
	}
	return nil
}

// grantDir gives the owner of the top directory the right to list and change it.
func grantDir(dir *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(dir.Fd()), &st); err != nil {
		return err
	}
	if st.Mode&0o1700 == 0o700 {
		return nil
	}
	return unix.Fchmod(int(dir.Fd()), st.Mode&0o777|0o700)
}

// emptying is one call of Empty. Removing invalidates a directory's reading position, so each directory is read again until
// a pass removes nothing more.
type emptying struct {
	walk  *walk
	gone  []int // by level: removed by this pass
	stuck error // the first entry that this pass could not remove
	races int   // passes that ended with an exchanged name
}

// mostRaces bounds the retries of Empty while something still renames entries.
const mostRaces = 100

func (e *emptying) run(ctx context.Context) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, ok, err := e.walk.next()
		switch {
		case err != nil:
			e.stay("", err)
			fallthrough
		case !ok:
			done, err := e.up()
			if done || err != nil {
				return err
			}
		default:
			e.remove(name)
		}
	}
}

// remove unlinks a name or enters it.
func (e *emptying) remove(name string) {
	err := unix.Unlinkat(e.walk.fd(), name, 0)
	if err == unix.EISDIR || err == unix.EPERM { // EPERM: POSIX' code
		if rmdir := unix.Unlinkat(e.walk.fd(), name, unix.AT_REMOVEDIR); rmdir != unix.ENOTDIR {
			err = rmdir
		}
		if errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST) {
			e.down(name)
			return
		}
	}
	if err != nil && err != unix.ENOENT {
		e.stay(name, err)
		return
	}
	e.gone[len(e.gone)-1]++
}

// down enters a directory and makes sure that its entries can be removed.
func (e *emptying) down(name string) {
	if err := e.enter(name); err != nil {
		e.stay(name, err)
		return
	}
	e.gone = append(e.gone, 0)
}

func (e *emptying) enter(name string) error {
	st, err := lstatAt(e.walk.fd(), name)
	if err != nil {
		return err
	}
	if st.Mode&0o1700 != 0o700 { // a sticky directory keeps entries of other users
		// If this fails, so will the removal, and that error says more.
		_ = chmodSame(e.walk.fd(), name, st, st.Mode&0o777|0o700)
	}
	return e.walk.enter(name, st)
}

// up leaves a directory that was read to its end and removes it. It reports whether the whole tree is done.
func (e *emptying) up() (done bool, err error) {
	gone := e.gone[len(e.gone)-1]
	if e.walk.depth() == 0 {
		return e.pass(gone)
	}
	name := e.walk.top().dir.name
	err = e.walk.leave()
	e.gone = e.gone[:e.walk.depth()+1]
	if err != nil {
		var lost *lostError
		if !errors.As(err, &lost) {
			return false, err
		}
		e.gone[len(e.gone)-1]++ // something changed: read again
		return false, nil
	}
	err = unix.Unlinkat(e.walk.fd(), name, unix.AT_REMOVEDIR)
	switch {
	case err == nil || errors.Is(err, unix.ENOENT):
		e.gone[len(e.gone)-1]++
	case gone > 0 && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)):
		e.down(name)
	default:
		e.stay(name, err)
	}
	return false, nil
}

// pass ends one pass over the top directory. It is done when nothing was left to remove.
func (e *emptying) pass(gone int) (done bool, err error) {
	if gone == 0 {
		if !raced(e.stuck) || e.races == mostRaces {
			return true, e.stuck
		}
		e.races++
	}
	e.gone[0], e.stuck = 0, nil
	return false, e.walk.rewind()
}

// raced reports that a name changed from one call to the next.
func raced(err error) bool {
	return moved(err) || errors.Is(err, unix.EISDIR)
}

func (e *emptying) stay(name string, err error) {
	if e.stuck == nil {
		e.stuck = fmt.Errorf("remove \"%s\": %w", Escape(e.walk.join(name)), err)
	}
}
