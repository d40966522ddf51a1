package scan

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// errStale says that what is remembered of a directory is not what is there, although it has not changed.
// So it is where names are encrypted, and the key has come or gone since.
var errStale = errors.New("what was remembered is wrong")

// recall passes over a directory that has not changed since it was remembered, and goes down into it
// where it has subdirectories. It leaves everything else to those who open the directory.
func (w *walk) recall(at int, name string) (known bool, err error) {
	if w.memory == nil || strings.HasPrefix(name, lockdir.RunPrefix) {
		return false, nil
	}
	st, err := inode.Stat(at, name)
	if err != nil || st.Mnt_id != w.mount {
		return false, nil //nolint:nilerr // opening it says more
	}
	list, known := w.memory.find(st)
	if known && list.subdirs != "" {
		known, err = w.reenter(at, name, st, list)
	}
	if known {
		w.entries += list.entries
	}
	return known, err
}

// reenter goes down into a directory that is known, if it still is the one.
func (w *walk) reenter(at int, name string, st *unix.Statx_t, list listing) (bool, error) {
	fd, err := inode.OpenBeneath(at, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, nil //nolint:nilerr // opening it to read says more
	}
	if now, err := inode.Stat(fd, ""); err != nil || inode.Of(now) != inode.Of(st) || now.Ctime != st.Ctime {
		return false, errors.Join(err, unix.Close(fd))
	}
	return true, w.enter(fd, name, st, list, true)
}
