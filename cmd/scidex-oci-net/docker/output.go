package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
)

// output is the output directory of a run. It is opened once, before the run: whatever has its name afterwards, nothing else is
// read, changed or removed. Nil: there is none.
type output struct {
	dir    *userdir.Dir
	before map[string]unix.Stat_t // its files and directories before the run, by path
	inputs contents               // what was copied into it
	made   []string               // what was not there before inputs were copied
}

func openOutput(ctx context.Context, dir string) (*output, error) {
	d, err := userdir.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("output directory: %w; make it first", err)
	}
	o := &output{dir: d, inputs: contents{}}
	if err = o.look(); err == nil {
		err = o.tryWriting(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("output directory: %w", err), o.close())
	}
	return o, nil
}

func (o *output) close() error {
	if o == nil {
		return nil
	}
	return o.dir.Close()
}

// look lists the output directory, and refuses it with anything but files and directories: nothing else is copied into a run, and it
// would be gone in the end.
func (o *output) look() error {
	o.before = map[string]unix.Stat_t{}
	return walk(o.dir, "", func(_ *userdir.Dir, _, at string, st unix.Stat_t) error {
		if o.before[at] = st; !regular(st) && !directory(st) {
			return fmt.Errorf("%q is no file and no directory; take it away", filepath.Join(o.dir.Path(), at))
		}
		return nil
	})
}

// tryWriting finds out before the run what would fail after it.
func (o *output) tryWriting(ctx context.Context) error {
	fresh, name, err := o.temporary()
	if err != nil {
		return err
	}
	return errors.Join(fresh.Close(), remove(ctx, o.dir, name))
}

func (o *output) temporary() (made *userdir.Dir, name string, err error) {
	name = userdir.Temporary + rand.Text()
	made, err = o.dir.Mkdir(name, 0o700)
	return made, name, err
}

// in calls do with the directory that a path in the output directory names something in, which it makes if it is missing.
func (o *output) in(at string, do func(dir *userdir.Dir, name string) error) error {
	var above []string
	if dir := path.Dir(at); dir != "." {
		above = strings.Split(dir, "/")
	}
	d, err := o.dir.MakeAll(above, 0o777)
	if err != nil {
		return err
	}
	return errors.Join(do(d, path.Base(at)), d.Close())
}

// remaining reports whether the name of the output directory is still its own.
func (o *output) remaining() error {
	now, err := userdir.Open(o.dir.Path())
	if err != nil {
		return err
	}
	defer now.Close()
	is, err := now.Lstat(".")
	was, failed := o.dir.Lstat(".")
	if err := errors.Join(err, failed); err != nil {
		return err
	}
	if is.Dev != was.Dev || is.Ino != was.Ino {
		return errors.New("another directory has taken its place since")
	}
	return nil
}

// walk calls visit for all that is below a directory, and enters what is a directory then. It follows no link.
func walk(d *userdir.Dir, at string, visit func(in *userdir.Dir, name, at string, st unix.Stat_t) error) error {
	names, err := d.Names(0)
	if err != nil {
		return err
	}
	for _, name := range names {
		st, err := d.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) { // removed since
			continue
		}
		below := path.Join(at, name)
		if err == nil {
			err = visit(d, name, below, st)
		}
		if err == nil && directory(st) {
			err = within(d, name, func(sub *userdir.Dir) error { return walk(sub, below, visit) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// within calls do with a directory in another one.
func within(d *userdir.Dir, name string, do func(sub *userdir.Dir) error) error {
	sub, err := d.Sub(name)
	if err != nil {
		return err
	}
	return errors.Join(do(sub), sub.Close())
}

// remove removes what a name in a directory is, with all that is below.
func remove(ctx context.Context, d *userdir.Dir, name string) error {
	st, err := d.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && directory(st) {
		err = within(d, name, func(sub *userdir.Dir) error { return empty(ctx, sub) })
	}
	if err != nil {
		return err
	}
	root, err := d.Root()
	if err != nil {
		return err
	}
	defer root.Close()
	return d.Do(func() error { return root.Remove(name) })
}

func empty(ctx context.Context, d *userdir.Dir) error {
	f, err := d.File()
	if err != nil {
		return err
	}
	defer f.Close()
	return d.Do(func() error { return outputs.Empty(ctx, f) })
}

func regular(st unix.Stat_t) bool   { return st.Mode&unix.S_IFMT == unix.S_IFREG }
func directory(st unix.Stat_t) bool { return st.Mode&unix.S_IFMT == unix.S_IFDIR }
