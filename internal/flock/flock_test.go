package flock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func try(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := flock.TryOpen(path, unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive)
	must(t, err)
	t.Cleanup(func() { f.Close() })
	return f
}

func TestTryFailsWhileTheLockIsHeld(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	first := try(t, path)
	second, err := os.Open(path)
	must(t, err)
	defer second.Close()
	for _, kind := range []int{flock.Shared, flock.Exclusive} {
		if err := flock.Try(second, kind); !errors.Is(err, flock.ErrHeld) {
			t.Fatalf("kind %d: %v", kind, err)
		}
	}
	if held, err := flock.Held(second); !held || err != nil {
		t.Fatal(held, err)
	}
	must(t, flock.Try(first, flock.Shared))
	must(t, flock.Try(second, flock.Shared)) // several have it
	if err := flock.Try(second, flock.Exclusive); !errors.Is(err, flock.ErrHeld) {
		t.Fatal(err)
	}
}

// Held leaves the lock to others.
func TestHeldKeepsNoLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	must(t, os.WriteFile(path, nil, 0o600))
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	if held, err := flock.Held(f); held || err != nil {
		t.Fatal(held, err)
	}
	try(t, path)
}

// A child that is just started has a copy of the descriptor, which shares the lock.
func TestReleaseUnlocksCopies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := flock.TryOpen(path, unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive)
	must(t, err)
	fd, err := unix.Dup(int(f.Fd()))
	must(t, err)
	defer unix.Close(fd)
	must(t, flock.Release(f))
	try(t, path)
}

func TestWaitEndsWithTheContextsCause(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	try(t, path)
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	_, err := flock.Open(ctx, path, unix.O_RDWR, 0, flock.Shared)
	if !errors.Is(err, cause) {
		t.Fatal(err)
	}
}

// The last holder gives the name to another file while the next one waits.
func TestOpenWaitsAndLocksTheFileThatHasTheName(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "lock")
	holder := try(t, path)
	got := make(chan *os.File)
	go func() {
		f, err := flock.Open(t.Context(), path, unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive)
		if err != nil {
			t.Error(err)
		}
		got <- f
	}()
	waitUntilOpened(t, path)
	must(t, os.Remove(path))
	must(t, os.WriteFile(path, []byte("new"), 0o600))
	must(t, holder.Close())
	f := <-got
	defer f.Close()
	if named, err := flock.Named(f, path); !named || err != nil {
		t.Fatal(named, err)
	}
	must(t, os.Remove(path))
	if named, err := flock.Named(f, path); named || err != nil {
		t.Fatal(named, err)
	}
}

// The last holder removes the directory while the next one waits.
func TestMakeDirWaitsAndMakesRemovedDirectories(t *testing.T) {
	path := filepath.Join(t.TempDir(), "dir")
	holder, err := flock.MakeDir(t.Context(), path)
	must(t, err)
	got := make(chan *os.File)
	go func() {
		f, err := flock.MakeDir(t.Context(), path)
		if err != nil {
			t.Error(err)
		}
		got <- f
	}()
	waitUntilOpened(t, path)
	must(t, os.Remove(path))
	must(t, holder.Close())
	f := <-got
	defer f.Close()
	if named, err := flock.Named(f, path); !named || err != nil {
		t.Fatal(named, err)
	}
}

// waitUntilOpened waits until this process has the file open twice.
func waitUntilOpened(t *testing.T, path string) {
	t.Helper()
	for {
		entries, err := os.ReadDir("/proc/self/fd")
		must(t, err)
		n := 0
		for _, e := range entries {
			if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil && target == path {
				n++
			}
		}
		if n == 2 {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestOpenRefusesLinksAndMissingFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Symlink("target", filepath.Join(dir, "link")))
	if _, err := flock.TryOpen(filepath.Join(dir, "link"), unix.O_RDWR|unix.O_CREAT, 0o600, flock.Exclusive); !errors.Is(err, unix.ELOOP) {
		t.Fatal(err)
	}
	var path *fs.PathError
	_, err := flock.TryOpen(filepath.Join(dir, "none"), unix.O_RDONLY|unix.O_DIRECTORY, 0, flock.Exclusive)
	if !errors.Is(err, fs.ErrNotExist) || !errors.As(err, &path) {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Fatal(entries, err)
	}
}

func TestMissing(t *testing.T) {
	for err, want := range map[error]bool{unix.ENOLCK: true, unix.EBADF: true, unix.ENOTSUP: true, nil: false, flock.ErrHeld: false, unix.EIO: false} {
		if got := flock.Missing(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

func TestLockedFindsLocksOfOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(path, nil, 0o600))
	opened := func() *os.File {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		must(t, err)
		t.Cleanup(func() { f.Close() })
		return f
	}
	lock := func(f *os.File, kind int16, from, size int64) {
		must(t, unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: kind, Start: from, Len: size}))
	}
	own, one, two := opened(), opened(), opened()
	lock(own, unix.F_WRLCK, 0, 5)
	lock(one, unix.F_RDLCK, 10, 2)
	lock(two, unix.F_RDLCK, 12, 1) // next to it
	lock(two, unix.F_WRLCK, 1<<40, 1)
	lock(one, unix.F_WRLCK, 1<<50, 0) // up to the end
	for _, test := range []struct {
		from, to int64
		want     []flock.Range
	}{
		{0, 1 << 60, []flock.Range{{10, 12}, {12, 13}, {1 << 40, 1<<40 + 1}, {1 << 50, 1 << 60}}},
		{11, 1 << 40, []flock.Range{{11, 12}, {12, 13}}},
		{13, 1 << 40, nil},
		{0, 10, nil},
		{12, 12, nil},
	} {
		if got, err := flock.Locked(own, test.from, test.to); err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%d to %d: %v, %v", test.from, test.to, got, err)
		}
	}
}
