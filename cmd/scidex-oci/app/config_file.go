package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// configFile is a config file to change, by its name in its directory.
type configFile struct {
	dir        *userdir.Dir
	name, path string
}

// changeConfigFile replaces a config file by what edit makes of its text, which is empty if there is no file yet. It follows
// symbolic links, keeps mode and owner, and takes turns with other processes.
func changeConfigFile(path string, edit func(text string) (string, error)) (err error) {
	c, err := findConfigFile(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.dir.Close()) }()
	next, err := c.lockNext()
	if err != nil {
		return err
	}
	defer next.Close() // which unlocks it
	changed, err := c.fill(next, edit)
	if !changed || err != nil {
		return errors.Join(err, c.dir.Remove(c.nextName(), next))
	}
	if err := c.dir.Rename(c.nextName(), c.dir, c.name, 0); err != nil {
		return errors.Join(err, c.dir.Remove(c.nextName(), next))
	}
	return c.dir.Sync()
}

// findConfigFile opens the directory of a config file, and makes it if it is missing.
func findConfigFile(path string) (configFile, error) {
	dir, name, err := userdir.ParentOfTarget(path)
	if errors.Is(err, fs.ErrNotExist) {
		made, failed := userdir.Make(filepath.Dir(path), 0o700) // XDG Base Directory Specification: 0700
		if failed != nil {
			return configFile{}, configNotWritten(path, failed)
		}
		if err := made.Close(); err != nil {
			return configFile{}, err
		}
		dir, name, err = userdir.ParentOfTarget(path)
	}
	switch {
	case errors.Is(err, unix.EISDIR):
		err = configNotRegular(path)
	case err != nil:
		err = configNotWritten(path, err)
	}
	return configFile{dir, name, path}, err
}

func configNotWritten(path string, err error) error {
	return fmt.Errorf("the config file %q cannot be written: %w; give another with --config FILE", path, userdir.Plain(err))
}

func configNotRegular(path string) error {
	return fmt.Errorf("%q is not a regular file; give another with --config FILE", path)
}

// fill writes the edited text of the file to next. It reports whether there is a change.
func (c configFile) fill(next *os.File, edit func(text string) (string, error)) (changed bool, err error) {
	text, err := c.readOld(next)
	if err != nil {
		return false, err
	}
	edited, err := edit(text)
	if err != nil || edited == text {
		return false, err
	}
	if err := next.Truncate(0); err != nil { // a process that was killed left it
		return false, err
	}
	if _, err := next.WriteString(edited); err != nil {
		return false, err
	}
	return true, next.Sync()
}

func (c configFile) nextName() string { return "." + c.name + ".next" }

// lockNext opens and locks the file that becomes the next config file. It uses one that a killed process left. If another
// process renames the file to the config file before it is locked, lockNext opens a new one.
func (c configFile) lockNext() (*os.File, error) {
	for {
		f, err := c.dir.Append(c.nextName(), 0o666)
		if err != nil {
			return nil, configNotWritten(c.path, err)
		}
		current, err := c.lock(f)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lock %q: %w", f.Name(), err), f.Close())
		}
		if current {
			return f, nil
		}
		f.Close()
	}
}

// lock waits for the lock of a file, and reports whether its name is still this file's.
func (c configFile) lock(f *os.File) (current bool, err error) {
	if err := flock.Lock(f, flock.Exclusive); err != nil {
		return false, err
	}
	return c.dir.Is(c.nextName(), f)
}

// readOld reads the config file, and gives next its mode and owner.
func (c configFile) readOld(next *os.File) (string, error) {
	st, err := c.dir.Lstat(c.name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG {
		return "", configNotRegular(c.path)
	}
	old, err := c.dir.Read(c.name)
	if err != nil {
		return "", err
	}
	defer old.Close()
	text, err := userfile.ReadFrom(c.path, old)
	if err != nil {
		return "", err
	}
	return string(text), c.dir.Do(func() error { return keepConfigMode(old, next) })
}

// keepConfigMode gives next the owner and the mode of the old file. A group that the caller is not in cannot be given; then nothing is
// granted to that of the new file.
func keepConfigMode(old, next *os.File) error {
	var was, is unix.Stat_t
	if err := errors.Join(unix.Fstat(int(old.Fd()), &was), unix.Fstat(int(next.Fd()), &is)); err != nil {
		return err
	}
	mode := fs.FileMode(was.Mode).Perm()
	if was.Uid != is.Uid || was.Gid != is.Gid { // root edits a user's file
		err := next.Chown(int(was.Uid), int(was.Gid))
		if errors.Is(err, fs.ErrPermission) && was.Uid == is.Uid {
			mode, err = mode&^0o070, nil
		}
		if err != nil {
			return err
		}
	}
	return next.Chmod(mode)
}
