package e2e

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listening is an engine on a socket.
type listening struct {
	*harness
	cmd  *exec.Cmd
	path string
}

// listening starts an engine and waits for its socket.
func (h *harness) listening(path string, cmd *exec.Cmd) *listening {
	h.t.Helper()
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	l := &listening{h, cmd, path}
	until(h.t, hangTimeout, "the engine listens", l.listens)
	return l
}

func (l *listening) listens() bool {
	c, err := net.Dial("unix", l.path)
	if err == nil {
		c.Close()
	}
	return err == nil
}

func (h *harness) engine(args ...string) *listening {
	h.t.Helper()
	path := h.path("engine.sock")
	return h.listening(path, h.command(theHost.bin, append([]string{"serve", "--socket", path}, args...)...))
}

// caller is a connection to an engine.
func (l *listening) caller() *served {
	l.t.Helper()
	c, err := net.Dial("unix", l.path)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	return &served{harness: l.harness, to: c, from: bufio.NewReader(c), events: map[string][]string{}, logs: map[string]string{}}
}

// stop ends an engine.
func (l *listening) stop() {
	l.t.Helper()
	l.tell(l.cmd, syscall.SIGTERM)
	l.ended(l.cmd, 0)
	if _, err := os.Lstat(l.path); err == nil {
		l.t.Errorf("%s is left", l.path)
	}
}

// TestServeSocket: callers share an engine; if one disconnects, its runs are stopped, and no others.
func TestServeSocket(t *testing.T) {
	h := newHarness(t)
	l := h.engine("--jobs=3")
	if info, err := os.Lstat(l.path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	h.mustRefuse([]string{"serve", "--socket", h.path("other.sock")}, "another engine", l.path)
	f := h.flag()
	gone, other := l.caller(), l.caller()
	runs, detached := h.id("runs"), h.id("detached")
	gone.call("submit", gone.stays(runs, nil))
	gone.call("submit", map[string]any{"id": detached, "detached": true, "inputs": []string{f.input()}, "command": []string{"sh", "-c", "echo ready; " + awaited}})
	h.logged(runs, "ready")
	h.logged(detached, "ready")
	other.result(other.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	gone.to.Close()
	other.result(other.call("wait", map[string]any{"id": runs})).expect(t, "canceled", "stopped", 129)
	f.raise()
	other.result(other.call("wait", map[string]any{"id": detached})).expect(t, "complete", "exit", 0)
	h.mustRefuse([]string{"run", "--input", l.path, "--", "true"}, l.path)
	l.stop()
}

// TestServeSocketHostile: callers that write partial requests, floods or nothing do not affect the others, and leave nothing.
func TestServeSocketHostile(t *testing.T) {
	h := newHarness(t)
	l := h.engine("--jobs=2")
	good := l.caller()
	run := func() {
		good.result(good.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	}
	run()
	open := func() int {
		all, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", l.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	before := open()
	flood := l.caller()
	go func() { // it reads nothing
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(flood.to, `{"jsonrpc":"2.0","id":%d,"method":"list","params":{"limit":1000}}`+"\n", i); err != nil {
				return
			}
		}
	}()
	huge := l.caller()
	go func() {
		for range 100 {
			if _, err := io.WriteString(huge.to, strings.Repeat("x", 1<<20)); err != nil {
				return
			}
		}
	}()
	for i := range 200 {
		c := l.caller()
		c.write([]string{"", "{", `{"jsonrpc":"2.0","id":1,"method":"run","params":{"command":["true"]}}`, "[]\n", `{"jsonrpc":"2.0","id":1,"method":"submit","params":{"command":["sleep","600"]}}` + "\n"}[i%5])
		c.to.Close()
		if i%50 == 0 {
			run()
		}
	}
	flood.to.Close()
	huge.to.Close()
	run()
	until(t, hangTimeout/2, fmt.Sprintf("%d descriptors are open again", before), func() bool { return open() <= before+8 }) // SQLite keeps some
	l.stop()
}

// TestServeSocketOfOthers: another user is refused, also if the file's mode permits them.
func TestServeSocketOfOthers(t *testing.T) {
	h := newHarness(t)
	l := h.engine()
	if os.Geteuid() == 0 {
		dir, err := os.MkdirTemp("/tmp", h.run)
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		link := filepath.Join(dir, "s")
		if err := os.Link(l.path, link); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{dir, link} {
			if err := os.Chmod(path, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		cmd := h.command("/usr/bin/python3", "-c", `
import socket, sys
with socket.socket(socket.AF_UNIX) as s:
    s.connect(sys.argv[1])
    print(s.makefile().read())`, link)
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out := h.finish(cmd); !strings.Contains(out.stdout, "serves only uid 0") {
			t.Errorf("%+v", out)
		}
	}
	l.stop()
}

// copies returns copies of a process' descriptors, as a child has them that it has just cloned.
func copies(t *testing.T, pid int) (all []*os.File) {
	t.Helper()
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(process)
	names, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		number, err := strconv.Atoi(name.Name())
		if err != nil {
			t.Fatal(err)
		}
		fd, err := unix.PidfdGetfd(process, number, 0)
		if errors.Is(err, unix.EBADF) { // closed in between
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, os.NewFile(uintptr(fd), name.Name()))
	}
	return all
}

// TestServeSocketKilled: the file that a killed engine leaves is replaced, also while a child that it has just cloned has its descriptors; one
// that is no socket or on which another program listens is not.
func TestServeSocketKilled(t *testing.T) {
	h := newHarness(t)
	l := h.engine()
	made := func() time.Time {
		info, err := os.Lstat(l.path)
		if err != nil {
			return time.Time{} // it is replaced now
		}
		return info.ModTime()
	}
	first, left := made(), copies(t, l.cmd.Process.Pid)
	h.tell(l.cmd, syscall.SIGKILL)
	_ = l.cmd.Wait() // it was killed
	next := h.command(theHost.bin, "serve", "--socket", l.path)
	next.Stderr = os.Stderr
	if err := next.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "the file is replaced", func() bool { return made().After(first) })
	for _, f := range left {
		f.Close()
	}
	l = &listening{h, next, l.path}
	until(t, hangTimeout, "the next engine listens", l.listens)
	caller := l.caller()
	caller.result(caller.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	l.stop()
	other, err := net.Listen("unix", h.path("other.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	h.mustRefuse([]string{"serve", "--socket", h.path("other.sock")}, "another program listens")
	h.mustRefuse([]string{"serve", "--socket", h.write("file", "", 0o600)}, "no socket")
	h.mustRefuse([]string{"serve", "--socket", h.path(strings.Repeat("x", 120))}, "too long")
}

// TestServeSocketOfSystemd: an engine serves the socket that it is started with, and does not remove it.
func TestServeSocketOfSystemd(t *testing.T) {
	h := newHarness(t)
	path := h.path("systemd.sock")
	made, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Close()
	file, err := made.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := h.command("/bin/sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" serve`, theHost.bin)
	cmd.ExtraFiles = []*os.File{file}
	l := h.listening(path, cmd)
	caller := l.caller()
	caller.result(caller.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	l.tell(l.cmd, syscall.SIGTERM)
	l.ended(l.cmd, 0)
	if _, err := os.Lstat(path); err != nil {
		t.Error(err)
	}
}
