package procs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestKillListed: of what a /proc lists every process is killed but the first, and one that has ended is no error.
func TestKillListed(t *testing.T) {
	proc := t.TempDir()
	sleeper := func(name string) *exec.Cmd {
		cmd := exec.Command("sleep", "1000")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		own := strconv.Itoa(cmd.Process.Pid)
		if name == "" {
			name = own
		}
		if err := os.Symlink(filepath.Join("/proc", own), filepath.Join(proc, name)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	init, other, some, more := sleeper("1"), sleeper("self"), sleeper(""), sleeper("")
	if err := os.Symlink("/proc/none", filepath.Join(proc, "2")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := Kill(proc); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range []*exec.Cmd{some, more} {
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGKILL {
			t.Errorf("it ended with %v", cmd.ProcessState)
		}
	}
	for _, cmd := range []*exec.Cmd{init, other} {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if status := cmd.ProcessState.Sys().(syscall.WaitStatus); status.Signal() != syscall.SIGTERM {
			t.Errorf("it ended with %v", cmd.ProcessState)
		}
	}
	if err := Kill(filepath.Join(proc, "none")); err == nil {
		t.Error("no /proc is no error")
	}
}
