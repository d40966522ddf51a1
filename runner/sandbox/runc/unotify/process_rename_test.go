package unotify

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestLocateWhileRenamed: a file that is there is not taken for missing, which would be no event, because something else is
// renamed meanwhile. Openat2 without another try is the control.
func TestLocateWhileRenamed(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "a/moves"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for from, to := dir+"/a/moves", dir+"/b/moves"; ; from, to = to, from {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(from, to)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	root, err := unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	path, how := dir+"/a/../file", unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT}
	p := process{pid: os.Getpid()}
	interrupted := 0
	for calls := 0; interrupted < 100 && calls < 1_000_000; calls++ {
		fd, err := unix.Openat2(root, path, &how)
		if err == nil {
			unix.Close(fd)
		} else if errors.Is(err, unix.EAGAIN) {
			interrupted++
		}
		if p.locate(path) == missing {
			t.Fatalf("a file is missing after the control was interrupted %d times", interrupted)
		}
	}
	if interrupted == 0 && runtime.NumCPU() > 1 { // one processor does not rename during a call
		t.Error("the control was never interrupted, so this proves nothing")
	}
}
