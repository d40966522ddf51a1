package runner

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"
)

// errStale says that what is remembered of a directory is not what is there, although it has not changed.
// So it is where names are encrypted, and the key has come or gone since.
var errStale = errors.New("what was remembered is wrong")

// recall passes over a directory that has not changed since it was remembered, and goes down into it
// where it has subdirectories. It leaves everything else to those who open the directory.
func (s *scan) recall(at int, name string) (known bool, err error) {
	if s.memory == nil || strings.HasPrefix(name, runPrefix) {
		return false, nil
	}
	st, err := statAt(at, name)
	if err != nil || st.Mnt_id != s.mount {
		return false, nil //nolint:nilerr // opening it says more
	}
	list, known := s.memory.find(st)
	if known && list.subdirs != "" {
		known, err = s.reenter(at, name, st, list)
	}
	if known {
		s.entries += list.entries
	}
	return known, err
}

// reenter goes down into a directory that is known, if it still is the one.
func (s *scan) reenter(at int, name string, st *unix.Statx_t, list listing) (bool, error) {
	fd, err := openBeneath(at, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, nil //nolint:nilerr // opening it to read says more
	}
	if now, err := statAt(fd, ""); err != nil || identityOf(now) != identityOf(st) || now.Ctime != st.Ctime {
		return false, errors.Join(err, unix.Close(fd))
	}
	return true, s.enter(fd, name, st, list, true)
}
