package e2e

import (
	"bufio"
	"errors"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLocksStayInside: locks and leases that an analysis takes on its inputs do not keep the host from
// its own files.
func TestLocksStayInside(t *testing.T) {
	h := newHarness(t)
	licences := append(matches("/usr/share/doc/*/copyright"), "/usr/lib/os-release") // which nobody else opens at the same time
	hosts := licences[rand.IntN(len(licences))]                                      // but another suite, at the same time
	files := map[string]string{hosts: hosts}                                         // by the name inside
	for there, name := range map[string]string{"/data/x": "data/x", "/docs/x": "docs/x", "/inputs/more/x": "more/x", "/inputs/file": "file"} {
		files[there] = h.write(name, "content", 0o666)
	}

	end := h.flag()
	holdOutside(h, slices.Collect(maps.Values(files)), end, func() {
		for _, path := range files {
			if kept := held(t, path); len(kept) != 3 && (path != hosts || len(kept) == 0) {
				t.Errorf("control: of %s only %q are held from outside: it proves nothing", path, kept)
			}
		}
	})

	end = h.flag()
	l := h.launch(h.newID(), slices.Concat(
		[]string{"--project", testdata(t, "."), "--input", h.path("more"), "--input", h.path("file"), "--input", end.input()},
		[]string{"--", "python3", "-B", "/analysis/hold.py"}, slices.Collect(maps.Keys(files)), []string{"/inputs/flag"})...)
	l.await("held")
	for there, path := range files {
		if kept := held(t, path); len(kept) > 0 {
			t.Errorf("%s: the run keeps the host from it by %q", there, kept)
		}
	}
	end.raise()
	l.wait().expect(t, "complete", "exit", 0)
}

// holdOutside lets hold.py hold the files as the caller while the function runs.
func holdOutside(h *harness, files []string, end flag, look func()) {
	h.t.Helper()
	cmd := h.command("/usr/bin/python3", slices.Concat([]string{testdata(h.t, "hold.py")}, files, []string{end.path})...)
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for scanner := bufio.NewScanner(stderr); scanner.Scan() && scanner.Text() != "held"; {
	}
	look()
	end.raise()
	if err := cmd.Wait(); err != nil {
		h.t.Fatal(err)
	}
}

// held lists what prevents the caller's access to a file: a lock of flock(2), a lock of fcntl(2), a lease.
func held(t *testing.T, path string) (by []string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if errors.Is(err, unix.EWOULDBLOCK) { // which breaks the lease
		by = append(by, "lease")
	}
	if err != nil { // also because others than root may only read it
		f, err = os.Open(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		by = append(by, "flock")
	}
	lock := unix.Flock_t{Type: unix.F_WRLCK}
	if err := unix.FcntlFlock(f.Fd(), unix.F_GETLK, &lock); err != nil || lock.Type != unix.F_UNLCK {
		by = append(by, "fcntl")
	}
	return by
}

// TestBroadcasts: a signal for everyone reaches everyone in the run, and nobody outside. A priority for everyone is refused: it would
// reach the container's init.
func TestBroadcasts(t *testing.T) {
	h := newHarness(t)
	pid := victim(t, h.id("canary"))
	before := describe(t, pid)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import os, signal, subprocess, time
friend = subprocess.Popen(["sleep", "1000"])
for which in os.PRIO_USER, os.PRIO_PGRP:
    try:
        print(os.setpriority(which, 0, 19), flush=True)
    except PermissionError:
        print("refused", flush=True)
os.kill(-1, signal.SIGSTOP)
os.kill(-1, signal.SIGKILL)
print(friend.wait())
`)
	r.expect(t, "complete", "exit", 0)
	if got, want := h.stdoutOf(r), "refused\nrefused\n-9\n"; got != want {
		t.Errorf("control: in the run it gave %q, want %q", got, want)
	}
	if after := describe(t, pid); after != before {
		t.Errorf("the process outside is otherwise:\n%s", strings.Join(difference(strings.Split(before, "\n"), strings.Split(after, "\n")), "\n"))
	}
}

// TestSocketMemory: what the kernel keeps for sockets that nobody reads is part of a run's memory. Apart from that
// there is only one bound for the whole machine (tcp_mem in tcp(7)).
func TestSocketMemory(t *testing.T) {
	if !theHost.cgroup {
		t.Log("not covered here: without a control group nobody counts what sockets hold")
		return
	}
	const bound, slack = 64 << 20, 16 << 20
	if kept := unread(t, outsideText(t, "unread.py")); kept < bound+slack {
		t.Fatalf("control: %d bytes kept outside: it proves nothing", kept)
	}
	h := newHarness(t)
	r := h.analysis("unread.py", flags("--memory", "64MiB"))
	if r.Reason == "out_of_memory" {
		return
	}
	r.expect(t, "complete", "exit", 0)
	if kept := unread(t, h.stdoutOf(r)); kept > bound+slack && !readKnown(t).has("memory", "/proc/net/sockstat") {
		t.Errorf("a run with %d bytes of memory had sockets with %d", bound, kept)
	}
}

func unread(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func outsideText(t *testing.T, program string) string {
	t.Helper()
	out, err := exec.Command("/usr/bin/python3", "-B", testdata(t, program)).Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderrOf(err))
	}
	return string(out)
}
