package cgroup

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// Remove removes the group; it must be empty. A missing group is no error.
func (g *Group) Remove() error { return RemoveDirs(g.dirs) }

// RemoveDirs removes the directories of an empty group, such as those in a state file (gc).
func RemoveDirs(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		errs = append(errs, removeDir(dir))
	}
	return errors.Join(errs...)
}

// removeDir retries: an exiting process keeps its group busy for a moment.
func removeDir(dir string) error {
	deadline := time.Now().Add(time.Second)
	for pause := (backoff.Backoff{First: time.Millisecond, Longest: 50 * time.Millisecond}); ; time.Sleep(pause.Next()) {
		err := unix.Rmdir(dir)
		if err == nil || errors.Is(err, unix.ENOENT) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Now().After(deadline) {
			return fmt.Errorf("remove control group %s: %w", dir, err)
		}
	}
}
