package procs

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// Unnamed finds the deleted files on the mounts at work, paths as the processes see them, that a process of the run has open. It
// reads the descriptors of every process but init in its /proc, and stops early after more than most files. It does not
// find a file that is only mapped, or only in flight through a socket.
func Unnamed(proc string, work []string, most int64) ([]outputs.Inode, error) {
	pids, err := os.ReadDir(proc)
	if err != nil {
		return nil, err
	}
	s := fdSurvey{found: map[[2]uint64]int64{}, most: most, paths: work}
	for _, entry := range pids {
		if pid, err := strconv.Atoi(entry.Name()); err == nil && pid != 1 {
			if err := s.process(filepath.Join(proc, entry.Name())); err != nil {
				return nil, err
			}
		}
	}
	list := make([]outputs.Inode, 0, len(s.found))
	for id, bytes := range s.found {
		list = append(list, outputs.Inode{Dev: id[0], Ino: id[1], Bytes: bytes})
	}
	return list, nil
}

type fdSurvey struct {
	found map[[2]uint64]int64 // allocated bytes by device and inode
	most  int64
	paths []string // of /work, in a process's root
	work  []uint64 // ids of its mounts

	target [unix.PathMax]byte // of a link; the kernel shows none longer
}

// process checks one process, which may end.
func (s *fdSurvey) process(dir string) error {
	var err error
	if s.work, err = mountsAt(filepath.Join(dir, "root"), s.paths); err != nil {
		return gone(err)
	}
	fds, err := os.Open(filepath.Join(dir, "fd"))
	if err != nil {
		return gone(err)
	}
	defer fds.Close()
	for int64(len(s.found)) <= s.most {
		names, err := fds.Readdirnames(256)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return gone(err)
		}
		for _, name := range names {
			s.descriptor(int(fds.Fd()), name)
		}
	}
	return nil
}

// descriptor records an unnamed file. It calls stat only on files shown as deleted: on a network file system that could
// block forever.
func (s *fdSurvey) descriptor(fds int, name string) {
	n, err := unix.Readlinkat(fds, name, s.target[:])
	if err != nil || !bytes.HasSuffix(s.target[:n], []byte(" (deleted)")) {
		return
	}
	var st unix.Statx_t
	if err := unix.Statx(fds, name, 0, unix.STATX_BASIC_STATS|unix.STATX_MNT_ID, &st); err != nil {
		return
	}
	if !slices.Contains(s.work, st.Mnt_id) || st.Nlink > 0 {
		return
	}
	size := int64(st.Blocks) * 512
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		size = outputs.Allocated(int64(st.Blocks), int64(st.Size))
	}
	s.found[[2]uint64{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino}] = size
}

// mountsAt are the ids of the mounts at paths below root.
func mountsAt(root string, paths []string) ([]uint64, error) {
	ids := make([]uint64, 0, len(paths))
	for _, path := range paths {
		var st unix.Statx_t
		if err := unix.Statx(unix.AT_FDCWD, filepath.Join(root, path), unix.AT_SYMLINK_NOFOLLOW, unix.STATX_MNT_ID, &st); err != nil {
			return nil, err
		}
		ids = append(ids, st.Mnt_id)
	}
	return ids, nil
}

// gone ignores errors about a process that has ended or is not the run's.
func gone(err error) error {
	for _, known := range []error{unix.ENOENT, unix.ESRCH, unix.EACCES, unix.EPERM, unix.ENOTDIR} {
		if errors.Is(err, known) {
			return nil
		}
	}
	return err
}
