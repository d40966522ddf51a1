package blob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// Publish turns the ingest file name into the blob of the given digest, which whoever wrote the file
// has computed; readers verify it. It is idempotent: a file that is published already, also under
// another name of the same content, is no error. The blob is durable after Sync.
//
// Until Close, no Sweep removes any blob.
func (i *Ingest) Publish(name, sha256 string) error {
	if err := i.publish(name, sha256); err != nil {
		return fmt.Errorf("publish %q as %s: %w", clip(name), clip(sha256), err)
	}
	return nil
}

func (i *Ingest) publish(name, sha256 string) error {
	to, err := i.store.Path(sha256)
	if err != nil {
		return err
	}
	if err := checkName(name); err != nil {
		return err
	}
	if err := i.hold(); err != nil {
		return err
	}
	f, size, err := i.open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if has, failed := i.store.Has(sha256); has && failed == nil {
			i.dirty = true
			return nil
		}
	}
	if err != nil {
		return err
	}
	defer f.Close()
	known, err := i.store.known(to, size)
	if err != nil {
		return err
	}
	i.dirty = true
	if known {
		return unix.Unlinkat(int(i.dir.Fd()), name, 0)
	}
	if err := settle(f); err != nil {
		return err
	}
	// A blob of this name may have come meanwhile, or be a damaged one of another size: replacing it
	// by the same content is right for either.
	return unix.Renameat(int(i.dir.Fd()), name, unix.AT_FDCWD, to)
}

// hold takes the shared lock that keeps blobs from being removed.
func (i *Ingest) hold() error {
	if i.blobs != nil {
		return nil
	}
	f, err := i.store.lock(blobsDir, unix.LOCK_SH)
	if err != nil {
		return err
	}
	i.blobs = f
	return nil
}

// open opens an ingest file and checks that nobody can change it under another name.
func (i *Ingest) open(name string) (*os.File, int64, error) {
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Openat(int(i.dir.Fd()), name, flags, 0)
	if err != nil {
		return nil, 0, err
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		f.Close()
		return nil, 0, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Nlink != 1 {
		f.Close()
		return nil, 0, errors.New("not a regular file with one name")
	}
	return f, st.Size, nil
}

// known reports whether the store has a blob of this size at path, and makes it look new, so that a
// removal that goes by age leaves it alone.
func (s *Store) known(path string, size int64) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() || info.Size() != size {
		return false, nil
	}
	now := time.Now()
	switch err := os.Chtimes(path, now, now); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, nil
}

// settle makes a file the caller's, read-only and durable.
func settle(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return err
	}
	if int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() {
		if err := f.Chown(os.Geteuid(), os.Getegid()); err != nil {
			return err
		}
	}
	if err := f.Chmod(0o444); err != nil {
		return err
	}
	return f.Sync()
}

// Sync makes all blobs durable that were published so far. Where none was, it does nothing.
func (i *Ingest) Sync() error {
	if !i.dirty {
		return nil
	}
	if err := i.blobs.Sync(); err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	i.dirty = false
	return nil
}
