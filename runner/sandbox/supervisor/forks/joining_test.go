package forks

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/opencontainers/runtime-spec/specs-go"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/audit"
)

// sleeper is a process that waits to be killed.
func sleeper(t *testing.T, attr *syscall.SysProcAttr) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = attr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd
}

// TestJoining asks as a process that has the pidfd of another one.
func TestJoining(t *testing.T) {
	init := sleeper(t, nil).Process.Pid
	fd, err := unix.PidfdOpen(init, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	own, err := unix.PidfdOpen(os.Getpid(), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	apart := sleeper(t, &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWPID}).Process.Pid
	call := audit.Setns{PID: os.Getpid(), FD: fd, Flags: everyNamespace}
	var j joining
	refused := func(what string, call audit.Setns) {
		t.Helper()
		if j.allowed(call) {
			t.Errorf("%s may join", what)
		}
	}
	refused("without an order one", call)
	j.allow(init)
	refused("one for a namespace", audit.Setns{PID: call.PID, FD: fd, Flags: unix.CLONE_NEWNS})
	refused("one for another process", audit.Setns{PID: call.PID, FD: own, Flags: everyNamespace})
	refused("one with another file", audit.Setns{PID: call.PID, FD: 0, Flags: everyNamespace})
	refused("an analysis", audit.Setns{PID: apart, FD: fd, Flags: everyNamespace})
	if !j.allowed(call) {
		t.Fatal("what is ordered may not join")
	}
	refused("a second one", call)
	middle := j.forbid()
	refused("after the order one", call)
	if err := awaitEnd(middle, 10*time.Millisecond); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("a process that lives: %v", err)
	}
	if err := awaitEnd(j.forbid(), 0); err == nil || !strings.Contains(err.Error(), "no process has joined") {
		t.Errorf("no process: %v", err)
	}
}

func TestAwaitEnd(t *testing.T) {
	cmd := sleeper(t, nil)
	fd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Kill()
	if err := awaitEnd(os.NewFile(uintptr(fd), "pidfd"), time.Minute); err != nil {
		t.Error(err)
	}
}

// TestObey has a template that answers nothing, nonsense or too late.
func TestObey(t *testing.T) {
	for _, test := range []struct {
		answer []byte // nil: none
		closed bool
		want   string
	}{
		{nil, false, "does not answer"},
		{nil, true, "order a fork"},
		{[]byte{1}, false, "has ended"},
		{[]byte{0, 0, 0, 0}, false, "could not fork"},
		{[]byte{255, 255, 255, 255}, false, "operation not permitted"},
		{[]byte{7, 0, 0, 0}, false, ""},
	} {
		control, its, err := controlPair()
		if err != nil {
			t.Fatal(err)
		}
		if test.answer != nil {
			if _, err := its.Write(test.answer); err != nil {
				t.Fatal(err)
			}
		}
		if test.closed {
			its.Close()
		}
		null, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		target := Target{Streams: []*os.File{null, null, null}, Process: &specs.Process{User: specs.User{Umask: new(uint32)}}}
		o := &order{Target: target, pidfd: null, note: [2]*os.File{null, null}, gate: [2]*os.File{null, null}}
		pid, err := obey(int(control.Fd()), o, 10*time.Millisecond)
		if test.want == "" && (err != nil || pid != 7) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%v: %d, %v, want %q", test.answer, pid, err, test.want)
		}
		control.Close()
		its.Close()
		null.Close()
	}
}
