package cgroup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// WatchOOM calls kill once when the out-of-memory killer strikes in a v1 group, where, unlike v2 with memory.oom.group,
// the other processes keep running. It returns a function that ends the watch. On v2 it does nothing.
func (g *Group) WatchOOM(kill func()) (stop func() error, err error) {
	group, ok := g.files.(v1)
	if !ok {
		return func() error { return nil }, nil
	}
	// Documentation/admin-guide/cgroup-v1/memory.rst, "OOM Control".
	control, err := os.Open(filepath.Join(group.memory, "memory.oom_control"))
	if err != nil {
		return nil, err
	}
	defer control.Close()
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	event := os.NewFile(uintptr(fd), "memory.oom_control")
	if err := cgroupfs.Write(group.memory, "cgroup.event_control", fmt.Sprintf("%d %d", fd, control.Fd())); err != nil {
		return nil, errors.Join(err, event.Close())
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for binary.Read(event, binary.NativeEndian, new(uint64)) == nil {
			if g.killed() {
				kill()
				return
			}
		}
	}()
	return func() error { err := event.Close(); <-done; return err }, nil
}

// killed reports whether the out-of-memory killer has struck. The event comes when memory runs out, the counter moves a
// moment later, when a process has been chosen.
func (g *Group) killed() bool {
	for range 100 {
		if e, err := g.Evidence(); err != nil || e.OOMKills > 0 {
			return err == nil
		}
		time.Sleep(5 * time.Millisecond)
	}
	return false
}
