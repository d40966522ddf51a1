package scan

import (
	"errors"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/beneath"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// errStale says that the cache of a directory is wrong, although it has not changed. So it is where names are encrypted, and
// the key was added or removed since.
var errStale = errors.New("what was remembered is wrong")

// recall skips a directory that has not changed since it was cached, and descends into it if it has subdirectories. It
// leaves everything else to those who open the directory.
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

// reenter descends into a known directory, if it is still the same.
func (w *walk) reenter(at int, name string, st *unix.Statx_t, list listing) (bool, error) {
	fd, err := beneath.Open(at, name, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return false, nil //nolint:nilerr // opening it to read says more
	}
	if now, err := inode.Stat(fd, ""); err != nil || inode.Of(now) != inode.Of(st) || now.Ctime != st.Ctime {
		return false, errors.Join(err, unix.Close(fd))
	}
	return true, w.enter(fd, name, st, list, true)
}
