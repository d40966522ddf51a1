package sqlite

import (
	"os"
	"path/filepath"

	sqlite3 "github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"
)

// SQLite extends the -shm file, which it maps, by a byte in every 4 KiB. Where blocks are smaller that leaves holes, and a
// write to a hole when no block is free is SIGBUS, in C, where Go cannot catch it. wholePages is the size of blocks from
// which there are none, indexRoom more than what one growth of the index takes.
const (
	wholePages = 4 << 10
	indexRoom  = 128 << 10

	// ext4Reserve is the most blocks that ext4 counts as free but does not allocate.
	ext4Reserve = 4096
)

// room returns SQLite's own error for a full file system where there may be no blocks for the holes of the -shm file.
func room(path string) error {
	var fs unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(path), &fs); err != nil || fs.Bsize >= wholePages {
		return nil //nolint:nilerr // what else is wrong SQLite says
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
