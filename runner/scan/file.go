package scan

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/inode"
)

// memoryFile is where a tree is remembered: a file of its own, named by the device and inode of its top,
// so that launchers which look through different trees do not meet. Of two that look through the same,
// the later one's file stays; both are good. The zero value remembers nothing.
type memoryFile struct {
	path string
	fsid uint64 // of the file system: numbers of devices are used again
}

const (
	// memoryFiles is how many trees are remembered; the one that was written longest ago is forgotten.
	memoryFiles = 16
	temporary   = ".new-"
)

// fileOf names the file for the tree below an open directory.
func (s Scanner) fileOf(fd int) (f memoryFile, err error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil || s.Dir == "" || !timely(system.Type) {
		return f, err
	}
	st, err := inode.Stat(fd, "")
	if err != nil {
		return f, err
	}
	id := inode.Of(st)
	f.path = filepath.Join(s.Dir, fmt.Sprintf("%x-%x", id.Dev, id.Ino))
	f.fsid = uint64(uint32(system.Fsid.Val[0]))<<32 | uint64(uint32(system.Fsid.Val[1]))
	return f, nil
}

// timely reports whether a file system of the kind sets a directory's change time itself, by this
// kernel's clock, whenever a name in it changes. Network file systems and FUSE have other clocks, and
// caches; an overlay can be changed from below. Their directories are looked through each time.
func timely(kind int64) bool {
	switch kind {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC:
		return true
	}
	return false
}

// load reads what is remembered; nothing where the file is missing, damaged, of another version or not
// the caller's alone to write.
func (f memoryFile) load() *memory {
	raw, err := f.read()
	if err != nil {
		return f.forget()
	}
	records, err := decodeMemory(raw, f.fsid)
	if err != nil {
		return f.forget()
	}
	return newMemory(records)
}

// forget is a memory without anything in it.
func (f memoryFile) forget() *memory {
	if f.path == "" {
		return nil
	}
	return newMemory(nil)
}

func (f memoryFile) read() ([]byte, error) {
	file, err := os.OpenFile(f.path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(file.Fd()), &st); err != nil {
		return nil, err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o022 != 0 || st.Size > 2*memoryMax {
		return nil, fs.ErrInvalid
	}
	raw := make([]byte, st.Size)
	_, err = file.ReadAt(raw, 0)
	return raw, err
}

// save replaces the file. It is not synced: what a power cut makes of it is found damaged and ignored.
func (f memoryFile) save(m *memory) (err error) {
	dir := filepath.Dir(f.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(dir, temporary) // with mode 0600
	if err != nil {
		return err
	}
	_, err = file.Write(m.encode(f.fsid))
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(file.Name(), f.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(file.Name()))
	}
	return prune(dir)
}

// prune removes the oldest files above the number that is kept, and what killed launchers left.
func prune(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var files []fs.FileInfo
	var errs []error
	for _, e := range entries {
		info, err := e.Info()
		switch {
		case err != nil: // another launcher has removed it
		case !strings.HasPrefix(e.Name(), temporary):
			files = append(files, info)
		case time.Since(info.ModTime()) > time.Hour:
			errs = append(errs, remove(filepath.Join(dir, e.Name())))
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range files[min(memoryFiles, len(files)):] {
		errs = append(errs, remove(filepath.Join(dir, info.Name())))
	}
	return errors.Join(errs...)
}

// remove removes a file that another launcher may have removed.
func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
