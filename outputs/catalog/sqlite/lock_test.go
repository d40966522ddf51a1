package sqlite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A writer waits for its turn, asleep, while another process has it, even if SQLite's own lock is free.
func TestTurn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	result := make(chan error, 1)
	go func() { result <- c.Create(t.Context(), sample("a")) }()
	awaitWaiter(t, path+".lock")
	over()
	must(t, <-result)
}

// The turn is only for fairness: a lock that is never released holds nobody up for longer than timeout.
func TestTurnIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	defer over()
	c.timeout = time.Millisecond
	must(t, c.Create(t.Context(), sample("a")))
	must(t, os.Remove(path+".lock"))
	must(t, os.Mkdir(path+".lock", 0o700)) // what cannot be opened
	must(t, c.Create(t.Context(), sample("b")))
}

// The timeout counts from the last turn of any process, here of one that is still to come.
func TestTurnAfterOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	opened(t, path)
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	defer over()
	last := time.Now().Add(300 * time.Millisecond)
	must(t, os.Chtimes(path+".lock", last, last))
	if _, err := lock(t.Context(), path, time.Millisecond); !errors.Is(err, errHeld) || time.Now().Before(last) {
		t.Errorf("given up before %v with %v", last, err)
	}
}

// A process that gets the turn records that in the file, also after the clock was set back.
func TestTurnIsRecorded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	opened(t, path)
	for _, by := range []time.Duration{-time.Hour, time.Hour} {
		before := time.Now().Add(by)
		must(t, os.Chtimes(path+".lock", before, before))
		over, err := lock(t.Context(), path, timeout)
		must(t, err)
		over()
		if info, err := os.Stat(path + ".lock"); err != nil || time.Since(info.ModTime()).Abs() > time.Minute {
			t.Errorf("the last turn is told as of %v, %v", info.ModTime(), err)
		}
	}
}

// A turn from before the clock was set back holds nobody up.
func TestTurnAfterClockWasSetBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	opened(t, path)
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	defer over()
	later := time.Now().Add(time.Hour)
	must(t, os.Chtimes(path+".lock", later, later))
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if _, err := lock(ctx, path, time.Millisecond); !errors.Is(err, errHeld) {
		t.Errorf("it ended with %v", err)
	}
}

// An abandoned wait takes the lock from nobody.
func TestAbandonedLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := lock(ctx, path, timeout)
		result <- err
	}()
	awaitWaiter(t, path+".lock")
	cancel()
	if err := <-result; err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("given up: error = %v", err)
	}
	over()
	again, err := lock(t.Context(), path, timeout)
	must(t, err)
	again()
}

// However many waits were abandoned, one is left, and it takes the lock from nobody.
func TestAbandonedTurns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	c := opened(t, path)
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	c.timeout = time.Millisecond
	for i := range 5 {
		must(t, c.Create(t.Context(), sample(fmt.Sprint(i))))
	}
	if n := len(descriptors(t, path+".lock")); n != 2 { // the holder's, and that of the wait
		t.Errorf("%d descriptors of the lock are open, want 2", n)
	}
	over()
	c.timeout = timeout
	must(t, c.Create(t.Context(), sample("after")))
	for deadline := time.Now().Add(time.Minute); len(descriptors(t, path+".lock")) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the lock stays open")
		}
	}
}

// descriptors are those of this process that are open for a file.
func descriptors(t *testing.T, path string) (all []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	must(t, err)
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && to == path {
			all = append(all, link)
		}
	}
	return all
}

// awaitWaiter returns once a process sleeps for the lock of a file, which the kernel shows as "->" (proc_locks(5)).
func awaitWaiter(t *testing.T, path string) {
	t.Helper()
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	file := fmt.Sprintf("%02x:%02x:%d ", unix.Major(st.Dev), unix.Minor(st.Dev), st.Ino)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		locks, err := os.ReadFile("/proc/locks")
		must(t, err)
		for line := range strings.Lines(string(locks)) {
			if strings.Contains(line, "-> FLOCK") && strings.Contains(line, file) {
				return
			}
		}
	}
	t.Fatal("nobody waits")
}

// TestTurnEndsWhileAChildStarts: a child that is being started has a copy of every descriptor until it executes its program.
func TestTurnEndsWhileAChildStarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	over, err := lock(t.Context(), path, timeout)
	must(t, err)
	fd, err := strconv.Atoi(filepath.Base(descriptors(t, path+".lock")[0]))
	must(t, err)
	held, err := unix.Dup(fd)
	must(t, err)
	defer unix.Close(held)
	over()
	again, err := lock(t.Context(), path, time.Millisecond)
	must(t, err)
	again()
}
