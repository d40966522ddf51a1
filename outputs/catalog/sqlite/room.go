package sqlite

import "C" // pages.c

import (
	"os"
	"path/filepath"

	sqlite3 "github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// The -shm file, which SQLite maps, has no holes if this program has made it (pages.c). Another program, such as sqlite3(1),
// may have made one with holes where blocks are smaller than wholePages, and a write to a hole when no block is free is
// SIGBUS. indexRoom is more than one growth of the index takes.
const (
	wholePages = 4 << 10
	indexRoom  = 128 << 10

	// ext4Reserve is the most blocks that ext4 counts as free but does not allocate.
	ext4Reserve = 4096
)

// roomToOpen returns SQLite's own error for a full file system if the -shm file has holes and may lack blocks.
func roomToOpen(path string) error {
	const sector = 512 // the unit of st_blocks (stat(2))
	var st unix.Stat_t
	if unix.Stat(path+"-shm", &st) == nil && st.Blocks*sector < st.Size {
		return roomToWrite(path)
	}
	return nil
}

// roomToWrite returns the same if blocks are small and few are left. Another program may make holes at any time, and a
// commit must leave space for the outcome that is kept if it fails.
func roomToWrite(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil || fs.Bsize >= wholePages {
		return nil //nolint:nilerr // SQLite reports other errors
	}
	free := fs.Bavail
	if os.Geteuid() == 0 && fs.Bfree > ext4Reserve {
		free = max(free, fs.Bfree-ext4Reserve)
	}
	if free*uint64(fs.Bsize) < indexRoom {
		return sqlite3.Error{Code: sqlite3.ErrFull}
	}
	return nil
}
