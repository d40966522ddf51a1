package outputs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// Target is a directory of the user that receives outputs as the caller's own files. It is opened when it is named, and made, if it is
// missing, for the first file. Nothing is written outside of it, and no link in it is followed. It is for one goroutine.
type Target struct {
	near      *userdir.Dir // the directory, or the nearest one above it
	missing   []string     // its names below near
	overwrite bool
	dir       *userdir.Dir // nil before the first file
	lock      *os.File     // nil: not locked
	last      *userdir.Dir // the directory of the last file, kept because outputs come in order
	lastPath  []byte
}

// ErrNotEmpty says that a target is not empty and may not be overwritten.
var ErrNotEmpty = errors.New("is not empty; name an empty or new directory, or use --overwrite")

// OpenTarget opens dir, or the nearest directory above it that exists. A directory that is not empty is ErrNotEmpty unless overwrite is
// set. dir itself may be a symlink to a directory: the user named it.
func OpenTarget(dir string, overwrite bool) (*Target, error) {
	near, missing, err := userdir.Nearest(dir)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	t := &Target{near: near, missing: missing, overwrite: overwrite}
	if len(missing) == 0 {
		err = t.check(near)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("export: %w", err), near.Close())
	}
	return t, nil
}

// NewTarget is the target of an open directory, which it closes.
func NewTarget(dir *userdir.Dir, overwrite bool) *Target {
	return &Target{near: dir, overwrite: overwrite}
}

// check refuses a directory that is not empty.
func (t *Target) check(dir *userdir.Dir) error {
	if t.overwrite {
		return nil
	}
	names, err := dir.Names(1)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s %w", dir.Path(), ErrNotEmpty)
	}
	return err
}

// Writable returns an error if the directory cannot be written or, if it is missing, cannot be made. The caller puts the path before the error.
func (t *Target) Writable() error {
	err := userdir.Plain(t.near.Writable())
	switch {
	case err == nil:
		return nil
	case len(t.missing) > 0:
		return fmt.Errorf("cannot be made in %s: %w", t.near.Path(), err)
	}
	return fmt.Errorf("cannot be written: %w", err)
}

// make opens the directory for the first file.
func (t *Target) make() error {
	return t.makeWith(func(*userdir.Dir) error { return nil })
}

func (t *Target) makeWith(prepare func(dir *userdir.Dir) error) error {
	if t.dir != nil {
		return nil
	}
	dir, err := t.near.MakeAll(t.missing, 0o755)
	if err != nil {
		return err
	}
	err = prepare(dir)
	if err == nil {
		err = t.check(dir)
	}
	if err != nil {
		return errors.Join(err, dir.Close())
	}
	t.dir = dir
	return nil
}

const lockTime = time.Minute // for which Lock waits

// Lock makes the directory, and keeps other targets that are locked out of it until Close. It waits for one that is locked now.
func (t *Target) Lock(ctx context.Context) error {
	return t.makeWith(func(dir *userdir.Dir) error {
		f, err := dir.File()
		if errors.Is(err, unix.EACCES) {
			return nil // it can be written, and not read
		}
		if err == nil {
			t.lock, err = f, lock(ctx, f)
		}
		if errors.Is(err, flock.ErrHeld) {
			err = fmt.Errorf("another export writes to %s; wait for its end", dir.Path())
		}
		return err
	})
}

func lock(ctx context.Context, f *os.File) error {
	within, cancel := context.WithTimeoutCause(ctx, lockTime, flock.ErrHeld)
	defer cancel()
	err := flock.Wait(within, f, flock.Exclusive)
	if flock.Missing(err) {
		return nil
	}
	return err
}

// Close releases the directory.
func (t *Target) Close() error {
	err := t.forget()
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close())
	}
	if t.dir != nil {
		err = errors.Join(err, t.dir.Close())
	}
	return errors.Join(err, t.near.Close())
}

func (t *Target) forget() (err error) {
	if t.last != nil {
		err = t.last.Close()
		t.last = nil
	}
	return err
}

// Put writes one file at path below the target, whole or not at all. The file gets the mode's permission bits with u+rw,
// under the caller's umask; set-id and sticky bits are dropped. Missing directories are made. An existing name is
// fs.ErrExist, unless the target was opened to overwrite and it is a regular file.
func (t *Target) Put(path []byte, mode fs.FileMode, r io.Reader) error {
	if err := t.put(path, mode, r); err != nil {
		return fmt.Errorf("export \"%s\": %w", Escape(path), err)
	}
	return nil
}

func (t *Target) put(path []byte, mode fs.FileMode, r io.Reader) error {
	if err := checkPath(path); err != nil {
		return err
	}
	if err := t.make(); err != nil {
		return err
	}
	var parent []byte
	name := path
	if slash := bytes.LastIndexByte(path, '/'); slash >= 0 {
		parent, name = path[:slash], path[slash+1:]
	}
	dir, err := t.open(parent)
	if err != nil {
		return err
	}
	return dir.Write(string(name), t.overwrite, mode.Perm()|0o600, func(f *os.File) error {
		_, err := io.Copy(f, r)
		return err
	})
}

// checkPath accepts only plain relative paths.
func checkPath(path []byte) error {
	if len(path) == 0 {
		return errors.New("the path is empty")
	}
	if bytes.IndexByte(path, 0) >= 0 {
		return errors.New("the path holds a NUL byte")
	}
	for part := range bytes.SplitSeq(path, []byte{'/'}) {
		switch string(part) {
		case "":
			return errors.New("the path is absolute or has an empty component")
		case ".", "..":
			return errors.New("the path has . or .. as a component")
		}
	}
	return nil
}

// open returns the directory at path and makes missing ones.
func (t *Target) open(path []byte) (*userdir.Dir, error) {
	if len(path) == 0 {
		return t.dir, nil
	}
	if t.last != nil && bytes.Equal(path, t.lastPath) {
		return t.last, nil
	}
	at, err := t.dir.MakeAll(strings.Split(string(path), "/"), 0o755)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("directory \"%s\" exists and is no directory", Escape(path))
	}
	if err != nil {
		return nil, err
	}
	err = t.forget()
	t.last, t.lastPath = at, bytes.Clone(path)
	return at, err
}
