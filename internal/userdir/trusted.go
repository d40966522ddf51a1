package userdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// CheckTrusted refuses a path of root's own files if another user can write a component of it, and so exchange what is
// below. In a sticky directory of root's, such as /tmp, others cannot exchange root's entries. For other callers it
// does nothing.
func CheckTrusted(path string) error {
	if os.Geteuid() != 0 {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	s := &search{todo: parts(path), last: true}
	if err := s.top(); err != nil {
		return err
	}
	defer func() { s.at.Close() }()
	for at := "/"; ; {
		if err := s.judge(at); err != nil {
			return err
		}
		if len(s.todo) == 0 {
			return nil
		}
		at = filepath.Join(at, s.todo[0])
		s.owner = nil
		more, err := s.step()
		if s.owner != nil {
			return fmt.Errorf("%q belongs to uid %d, who could exchange what is in it: give root a directory that only root can write", at, s.owner.uid)
		}
		switch {
		case errors.Is(err, fs.ErrPermission), err == nil && !more:
			return nil // it is missing, or no directory: root makes or refuses it
		case err != nil:
			return &fs.PathError{Op: "open", Path: path, Err: err}
		}
	}
}

// judge refuses a directory that others can write.
func (s *search) judge(path string) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(s.at.Fd()), &st); err != nil {
		return err
	}
	listed, err := unix.Getxattr(procPath(s.at), "system.posix_acl_access", nil) // the group's bits are then those of whom it lists (acl(5))
	others := st.Mode&0o002 != 0 || st.Mode&0o020 != 0 && (st.Gid != 0 || err == nil && listed > 0)
	if st.Uid == 0 && others && st.Mode&unix.S_ISVTX == 0 {
		return fmt.Errorf("%q can be written by others (mode %04o), who could exchange what is in it: "+
			"give root a directory that only root can write, or make it so with \"chmod go-w\"", path, st.Mode&0o7777)
	}
	return nil
}
