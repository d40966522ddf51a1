package scan

import (
	"fmt"
	"io"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/cachefile"
)

// memoryFile is the cache of a tree: one file, named by the device and inode of its top, so that launchers which scan
// different trees do not meet. Of two that scan the same, the later one's file stays; both are valid. The zero value caches
// nothing.
type memoryFile struct {
	path string
	fsid uint64 // of the file system: device numbers are reused
}

// fileOf names the file for the tree below an open directory.
func (s Scanner) fileOf(fd int) (f memoryFile, err error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(fd, &system); err != nil || s.Dir == "" || !inode.Timely(&system) {
		return f, err
	}
	st, err := inode.Stat(fd, "")
	if err != nil {
		return f, err
	}
	id := inode.Of(st)
	f.path = filepath.Join(s.Dir, fmt.Sprintf("%x-%x", id.Dev, id.Ino))
	f.fsid = inode.FileSystem(&system)
	return f, nil
}

// load reads the cache; nothing if the file is missing, damaged, of another version or writable by others than the
// caller.
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

// forget is an empty memory.
func (f memoryFile) forget() *memory {
	if f.path == "" {
		return nil
	}
	return newMemory(nil)
}

func (f memoryFile) read() ([]byte, error) {
	file, size, err := cachefile.Open(f.path, 2*memoryMax)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	raw := make([]byte, size)
	_, err = file.ReadAt(raw, 0)
	return raw, err
}

// save replaces the file. Damage by a power cut is detected and ignored.
func (f memoryFile) save(m *memory) error {
	return cachefile.Replace(f.path, func(w io.Writer) error {
		_, err := w.Write(m.encode(f.fsid))
		return err
	})
}
