package runner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

func moved(path string) error {
	return fmt.Errorf("%q was moved during the check; start again when nothing is moved there", path)
}

// unopened decides about the name of a directory that cannot be opened.
func (s *scan) unopened(at int, name string, err error) (*special, error) {
	var st unix.Stat_t
	statError := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	kind := st.Mode & unix.S_IFMT
	switch {
	case errors.Is(err, unix.ENOENT) && s.levels[len(s.levels)-1].known:
		return nil, errStale
	case errors.Is(err, unix.ENOENT) || errors.Is(statError, unix.ENOENT):
		return nil, nil
	case errors.Is(err, unix.EXDEV):
		return nil, mountedBelow(s.path(name))
	case (errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)) && statError == nil && kind != unix.S_IFDIR: // by now
		if isSpecial(kind) {
			return &special{s.path(name), kind}, nil
		}
		return nil, nil
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return nil, moved(s.path(name))
	case errors.Is(err, unix.EACCES):
		return nil, s.closed(at, name)
	}
	return nil, fmt.Errorf("open %q: %w", s.path(name), err)
}

// closed refuses a directory that is closed to the caller, but may be open to the analysis.
func (s *scan) closed(at int, name string) error {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) { // then it is the directory above that cannot be entered
		name, err = ".", unix.Fstat(at, &st)
	}
	if err == nil && !s.reader.mayEnter(&st) && !listed(at, name, &st) {
		return nil
	}
	return fmt.Errorf("you cannot look into %q, but the analysis might; let yourself read it, or close it to others (chmod o-x)", s.path(name))
}

// listed reports whether an access control list might let some id enter that the mode does not tell of;
// what such a list can give is in the bits of the group (acl(5)).
func listed(at int, name string, st *unix.Stat_t) bool {
	if st.Mode&0o010 == 0 {
		return false
	}
	n, err := unix.Lgetxattr(fmt.Sprintf("/proc/self/fd/%d/%s", at, name), "system.posix_acl_access", nil)
	return n > 0 || err != nil && err != unix.ENODATA && err != unix.ENOTSUP
}
