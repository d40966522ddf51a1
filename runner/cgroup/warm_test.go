package cgroup

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// moves makes a parent whose file is a pipe of one page, and what counts the moves written to it until all is closed.
func moves(t *testing.T) (p *Parent, pipe *os.File) {
	t.Helper()
	dir := t.TempDir()
	procs := filepath.Join(dir, "cgroup.procs")
	if err := unix.Mkfifo(procs, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(procs, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { pipe.Close() })
	if _, err := unix.FcntlInt(pipe.Fd(), unix.F_SETPIPE_SZ, 4096); err != nil {
		t.Fatal(err)
	}
	return &Parent{own: dir, mover: os.Getpid()}, pipe
}

// rest is what the pipe has, until nothing comes for a while.
func rest(t *testing.T, pipe *os.File) string {
	t.Helper()
	if err := pipe.SetReadDeadline(time.Now().Add(200 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	all, _ := io.ReadAll(pipe) // the deadline ends it
	return string(all)
}

// TestWarmEnds: the kernel is kept ready for a while, and not for as long as a start takes.
func TestWarmEnds(t *testing.T) {
	p, pipe := moves(t)
	p.Warm(t.Context())
	if n := strings.Count(rest(t, pipe), strconv.Itoa(p.mover)); n < 1 || n > mostMoves {
		t.Errorf("made ready %d times, want at most %d", n, mostMoves)
	}
}

// TestWarmStops: when the run has its group, nothing more is moved.
func TestWarmStops(t *testing.T) {
	p, pipe := moves(t)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	p.Warm(ctx)
	if moved := rest(t, pipe); moved != "" {
		t.Errorf("after the stop it moved %s", moved)
	}
}

// TestWarmYields: where a move takes long, nothing more is moved.
func TestWarmYields(t *testing.T) {
	p, pipe := moves(t)
	pid := strconv.Itoa(p.mover)
	if _, err := pipe.WriteString(strings.Repeat("x", 4096-len(pid))); err != nil { // there is room for one
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		p.Warm(t.Context())
	}()
	time.Sleep(20 * warmth)
	all := rest(t, pipe)
	<-ended
	if n := strings.Count(all, pid); n != 2 {
		t.Errorf("moved %d times, want 2: the second took long", n)
	}
}
