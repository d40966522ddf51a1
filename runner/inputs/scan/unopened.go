package scan

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
)

func moved(path string) error {
	return fmt.Errorf("%q was moved during the check; start again when nothing is moved there", path)
}

// unopened decides about the name of a directory that cannot be opened.
func (w *walk) unopened(at int, name string, err error) (*Special, error) {
	var st unix.Stat_t
	statError := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	kind := st.Mode & unix.S_IFMT
	switch {
	case errors.Is(err, unix.ENOENT) && w.levels[len(w.levels)-1].known:
		return nil, errStale
	case errors.Is(statError, unix.ENOENT): // two calls say that it was removed
		return nil, nil
	case errors.Is(err, unix.EXDEV):
		return nil, binds.MountedBelow(w.path(name))
	case (errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)) && statError == nil && kind != unix.S_IFDIR: // by now
		if isSpecial(kind) {
			return &Special{w.path(name), kind}, nil
		}
		return nil, nil
	case errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP):
		return nil, moved(w.path(name))
	case errors.Is(err, unix.EACCES):
		return nil, w.closed(at, name)
	}
	return nil, fmt.Errorf("open %q: %w", w.path(name), err)
}

// closed refuses a directory that is closed to the caller, but may be open to the analysis.
func (w *walk) closed(at int, name string) error {
	var st unix.Stat_t
	err := unix.Fstatat(at, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	if errors.Is(err, unix.EACCES) { // then the directory above cannot be entered
		name, err = ".", unix.Fstat(at, &st)
	}
	if err == nil && !w.reader.MayEnter(&st) && !listed(at, name, &st) {
		return nil
	}
	way := "let yourself read it, or close it to others (chmod o-x)"
	if !w.reader.Root && err == nil && int(st.Uid) != os.Geteuid() {
		way = fmt.Sprintf("pass a directory without it, or ask its owner (uid %d)", st.Uid)
	}
	return fmt.Errorf("you cannot look into %q, but the analysis might; %s", w.path(name), way)
}

// listed reports whether an access control list might let an id enter beyond what the mode shows; what such a list can give
// is in the bits of the group (acl(5)).
func listed(at int, name string, st *unix.Stat_t) bool {
	if st.Mode&0o010 == 0 {
		return false
	}
	n, err := unix.Lgetxattr(beneath.ProcPath(at)+"/"+name, "system.posix_acl_access", nil)
	return n > 0 || err != nil && err != unix.ENODATA && err != unix.ENOTSUP
}
