package cas

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

// The limits of what Gather defers.
const (
	// gatherMost files wait before their blobs are made, so that memory does not depend on their number and most are renamed
	// while the supervisor harvests the next ones.
	gatherMost = 4096
	// fewFiles are synced one by one. For more of them one syncfs(2) is cheaper, although it also waits for other writes to
	// the file system.
	fewFiles = 16
)

// Publish turns the ingest file name into the blob of the given digest, which the writer of the file has computed; readers
// verify it. It is idempotent: a file that is published already, also under another name of the same content, is no error.
// The blob is durable after Sync.
//
// Until Close, no Sweep removes any blob.
func (i *Ingest) Publish(name, sha256 string) error {
	if err := i.publish(name, sha256); err != nil {
		return fmt.Errorf("publish %.80q as %.80s: %w", name, sha256, err)
	}
	return nil
}

func (i *Ingest) publish(name, sha256 string) error {
	fd, to, err := i.prepare(name, sha256, 1)
	if fd < 0 || err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), name)
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return i.rename(name, to)
}

// Gather is Publish for one of many files: the blob exists, and is durable, only after Sync. Without Sync an unknown
// part of them is published. The file may have a second name in a working directory, if that is removed after the
// commit or gets a copy of the file.
func (i *Ingest) Gather(name, sha256 string) error {
	if err := i.gather(name, sha256); err != nil {
		return fmt.Errorf("publish %.80q as %.80s: %w", name, sha256, err)
	}
	if len(i.gathered) < gatherMost {
		return nil
	}
	return i.publishGathered()
}

func (i *Ingest) gather(name, sha256 string) error {
	if first, ok := i.gathered[sha256]; ok {
		if first == name { // several names of one inode share one copy
			return nil
		}
		return i.drop(name)
	}
	fd, _, err := i.prepare(name, sha256, 2)
	if fd < 0 || err != nil {
		return err
	}
	if err := unix.Close(fd); err != nil {
		return err
	}
	if i.gathered == nil {
		i.gathered = make(map[string]string)
	}
	i.gathered[sha256] = name
	return nil
}

// publishGathered makes blobs of the gathered files. Their contents are durable before they get the names of blobs, so that
// no crash leaves an incomplete blob.
func (i *Ingest) publishGathered() error {
	if len(i.gathered) == 0 {
		return nil
	}
	if err := i.syncGathered(); err != nil {
		return fmt.Errorf("make blobs durable: %w", err)
	}
	for sha256, name := range i.gathered {
		to, err := i.store.Path(sha256)
		if err == nil {
			err = i.rename(name, to)
		}
		if err != nil {
			return fmt.Errorf("publish %.80q as %.80s: %w", name, sha256, err)
		}
		delete(i.gathered, sha256)
	}
	return nil
}

func (i *Ingest) syncGathered() error {
	if len(i.gathered) > fewFiles {
		return unix.Syncfs(int(i.dir.Fd()))
	}
	for _, name := range i.gathered {
		fd, _, err := i.open(name, 2)
		if err != nil {
			return err
		}
		f := os.NewFile(uintptr(fd), name)
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// prepare opens an ingest file and makes it a blob except for name and durability. It returns -1 if the store has the blob
// already. An os.File would cost two more system calls per file, to check whether it can be polled.
func (i *Ingest) prepare(name, sha256 string, names uint64) (fd int, to string, err error) {
	to, err = i.store.Path(sha256)
	if err == nil {
		err = checkName(name)
	}
	if err == nil {
		err = i.hold()
	}
	if err != nil {
		return -1, "", err
	}
	i.dirty = true
	fd, st, err := i.open(name, names)
	if errors.Is(err, fs.ErrNotExist) {
		there, failed := i.store.Verified(sha256) // it must be certain that it is published already
		if failed == nil {
			return -1, to, there.Close()
		}
		if !errors.Is(failed, fs.ErrNotExist) {
			return -1, to, failed
		}
	}
	if err != nil {
		return -1, "", err
	}
	known, err := i.store.known(sha256, to, st.Size)
	if err == nil && known {
		return -1, to, errors.Join(i.drop(name), unix.Close(fd))
	}
	if err == nil {
		err = takeOver(fd, st)
	}
	if err != nil {
		return -1, "", errors.Join(err, unix.Close(fd))
	}
	return fd, to, nil
}

// rename gives a file the name of its blob. An existing blob of this name may be new, or a damaged one of another size:
// replacing it by the same content is right for either.
func (i *Ingest) rename(name, to string) error {
	return unix.Renameat(int(i.dir.Fd()), name, unix.AT_FDCWD, to)
}

// drop removes a file whose content the store has.
func (i *Ingest) drop(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := unix.Unlinkat(int(i.dir.Fd()), name, 0); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// hold takes the shared lock that prevents the removal of blobs.
func (i *Ingest) hold() error {
	if i.blobs != nil {
		return nil
	}
	f, err := lock(i.store.blobs, func(f *os.File) error { return flock.Lock(f, flock.Shared) })
	if err != nil {
		return err
	}
	if !i.store.Copies {
		err = i.store.CheckReplaced()
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	i.blobs = f
	return nil
}

// open opens an ingest file and checks that it has at most so many names.
func (i *Ingest) open(name string, names uint64) (fd int, st *unix.Stat_t, err error) {
	flags := unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err = unix.Openat(int(i.dir.Fd()), name, flags, 0)
	if err != nil {
		return -1, nil, err
	}
	st = new(unix.Stat_t)
	err = unix.Fstat(fd, st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || uint64(st.Nlink) > names) {
		err = errors.New("not a regular file, or one that has other names")
	}
	if err != nil {
		return -1, nil, errors.Join(err, unix.Close(fd))
	}
	return fd, st, nil
}

// known reports whether the store has a blob of this size at path that cannot be changed under another name, and makes it
// look new, so that a removal by age skips it. One of the size is read to detect damage: the file to be published replaces a
// damaged one.
func (s *Store) known(sha256, path string, size int64) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok || st.Nlink != 1 || !info.Mode().IsRegular() || info.Size() != size {
		return false, nil
	}
	switch f, err := s.Verified(sha256); {
	case err != nil: // whatever the error is
		return false, nil //nolint:nilerr // it is replaced
	default:
		_ = f.Close() // it was only read
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

// takeOver makes a file read-only and the caller's.
func takeOver(fd int, st *unix.Stat_t) error {
	// The mode first: a supervisor that resumes after a kill must read a file it does not own any more.
	if err := unix.Fchmod(fd, 0o444); err != nil {
		return err
	}
	if int(st.Uid) == os.Geteuid() && int(st.Gid) == os.Getegid() {
		return nil
	}
	return unix.Fchown(fd, os.Geteuid(), os.Getegid())
}

// Sync makes blobs of the gathered files, and makes all published blobs durable. Without any, it does nothing.
func (i *Ingest) Sync() error {
	if !i.dirty {
		return nil
	}
	err := i.publishGathered()
	if err == nil {
		err = i.blobs.Sync()
	}
	if err != nil {
		return fmt.Errorf("blob store: %w", err)
	}
	i.dirty = false
	return nil
}
