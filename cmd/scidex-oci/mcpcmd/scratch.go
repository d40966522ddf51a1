package mcpcmd

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// scratchNames is the pattern of directories that hold what models have written, until it is in a run.
const scratchNames = "scidex-oci-mcp-*"

// scratch is a directory of this process. A lock shows that it is in use: what a killed process leaves, the next one removes.
type scratch struct {
	path string
	lock *os.File
}

// newScratch makes a directory that another process has not removed before it was locked.
func newScratch() (*scratch, error) {
	removeStale()
	for {
		path, err := os.MkdirTemp("", scratchNames)
		if err != nil {
			return nil, err
		}
		lock, err := lockDirectory(path)
		if err != nil && !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		if err == nil {
			if _, err := os.Lstat(path); err == nil {
				return &scratch{path, lock}, nil
			}
			lock.Close()
		}
	}
}

// lockDirectory locks a directory of this user until it is closed.
func lockDirectory(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Geteuid() {
			err = os.ErrPermission
		}
	}
	if err == nil {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// removeStale removes directories that no process has locked.
func removeStale() {
	stale, err := filepath.Glob(filepath.Join(os.TempDir(), scratchNames))
	if err != nil {
		return
	}
	for _, path := range stale {
		if lock, err := lockDirectory(path); err == nil {
			_ = os.RemoveAll(path) // the next one tries again
			lock.Close()
		}
	}
}

func (s *scratch) close() {
	_ = os.RemoveAll(s.path) // the next one tries again
	s.lock.Close()
}
