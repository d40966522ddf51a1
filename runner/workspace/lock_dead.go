package workspace

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// LockDead locks the state file of a dead run; it returns nil for any other. It skips an empty file without trying its lock:
// its run is probably just starting, and has nothing to remove. It skips those of other users, too.
func LockDead(root string, key catalog.Key, uid int) (*StateFile, error) {
	path := StatePath(root, key)
	fd, err := unix.Open(path, unix.O_RDWR|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, Ignore(Ignore(&fs.PathError{Op: "open", Path: path, Err: err}, fs.ErrNotExist), fs.ErrPermission)
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	if err == nil && (st.Size == 0 || int(st.Uid) != uid) {
		return nil, unix.Close(fd)
	}
	t := &StateFile{Path: path, File: os.NewFile(uintptr(fd), path)}
	if err == nil {
		err = flock.Try(t.File, flock.Exclusive)
	}
	if err != nil {
		return nil, errors.Join(Ignore(err, flock.ErrHeld), t.File.Close())
	}
	if named, err := flock.Named(t.File, path); err != nil || !named {
		return nil, errors.Join(err, t.Close()) // its launcher has ended it meanwhile
	}
	return t, nil
}
