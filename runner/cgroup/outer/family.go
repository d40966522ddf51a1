package outer

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/host/procfs"
)

// family is a process and its descendants.
type family struct {
	proc string
	head int
}

// alone says for each group of a chain if only the family is in or below it.
func (f family) alone(c chain) []bool {
	flags := make([]bool, len(c.Dirs))
	if f.head == NoLauncher {
		return flags
	}
	for i, dir := range c.Dirs {
		if flags[i] = f.owns(dir); !flags[i] {
			break // then all above are shared
		}
	}
	return flags
}

// owns retries if a process has ended before its parent was read, or a group was removed before its processes were.
func (f family) owns(dir string) bool {
	for range 20 {
		all, err := f.count(dir)
		if err == nil || !errors.Is(err, errGone) {
			return all && err == nil
		}
		time.Sleep(time.Millisecond)
	}
	return false
}

var errGone = errors.New("a process or a group has vanished")

// vanished marks the errors of a group that was removed: before its files were opened or, for ENODEV, after.
func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return fmt.Errorf("%w: %w", errGone, err)
	}
	return err
}

// count reports whether all processes of a group and of those below it are the family's. Groups below may lack the
// controller, and are then charged to this one.
func (f family) count(dir string) (bool, error) {
	all := true
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return vanished(err)
		}
		if !entry.IsDir() {
			return nil
		}
		pids, err := cgroupfs.Pids(path)
		if err != nil {
			return vanished(err)
		}
		for _, pid := range pids {
			if all, err = f.has(pid); err != nil {
				return err
			}
			if !all {
				return fs.SkipAll
			}
		}
		return nil
	})
	return all, err
}

// has walks up the parents. A process of another PID namespace has pid 0 and is a stranger.
func (f family) has(pid int) (bool, error) {
	for generations := 0; pid > 1 && generations < 1<<16; generations++ {
		if pid == f.head {
			return true, nil
		}
		var err error
		if pid, err = f.parent(pid); err != nil {
			return false, err
		}
	}
	return pid == f.head, nil
}

func (f family) parent(pid int) (int, error) {
	const ppid = 4 // of proc_pid_stat(5)
	stat, err := procfs.ReadStat(filepath.Join(f.proc, strconv.Itoa(pid)))
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errGone, err)
	}
	parent, err := stat.Number(ppid)
	return int(parent), err
}
