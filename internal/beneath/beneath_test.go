package beneath

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpen(t *testing.T) {
	top := t.TempDir()
	for _, err := range []error{
		os.MkdirAll(top+"/root/d/e", 0o755),
		os.Symlink("/", top+"/root/out"), os.Symlink("d", top+"/root/in"), os.Symlink("..", top+"/root/d/up"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	root, err := os.Open(top + "/root")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for name, want := range map[string]error{
		"": nil, ".": nil, "d": nil, "d/e": nil, "d/..": nil, "none": unix.ENOENT,
		"..": unix.EXDEV, "d/../..": unix.EXDEV, "/": unix.EXDEV, "/tmp": unix.EXDEV,
		"out": unix.ELOOP, "out/tmp": unix.ELOOP, "in": unix.ELOOP, "in/e": unix.ELOOP, "d/up": unix.ELOOP,
	} {
		fd, err := Open(int(root.Fd()), name, unix.O_PATH|unix.O_DIRECTORY)
		if !errors.Is(err, want) {
			t.Errorf("%q: %v, not %v", name, err, want)
		}
		if err == nil {
			unix.Close(fd)
		}
	}
}

// TestOpenWhileRenamed: renames on the way fail far fewer calls of Open than single calls of openat2(2), the control.
func TestOpenWhileRenamed(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"a", "b", "a/moves"} {
		if err := os.Mkdir(top+"/"+name, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for from, to := top+"/a/moves", top+"/b/moves"; ; from, to = to, from {
			select {
			case <-stop:
				return
			default:
				_ = os.Rename(from, to)
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	root, err := os.Open(top)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH}
	control, failed := 0, 0
	for calls := 0; control < 100 && calls < 1_000_000; calls++ {
		for count, open := range map[*int]func() (int, error){
			&control: func() (int, error) { return unix.Openat2(int(root.Fd()), "a/../b", &how) },
			&failed:  func() (int, error) { return Open(int(root.Fd()), "a/../b", unix.O_PATH) },
		} {
			fd, err := open()
			switch {
			case err == nil:
				unix.Close(fd)
			case errors.Is(err, unix.EAGAIN):
				*count++
			default:
				t.Fatal(err)
			}
		}
	}
	if failed > control/2 {
		t.Errorf("renames failed %d single calls and %d opens", control, failed)
	}
	if control == 0 && runtime.NumCPU() > 1 { // one processor does not rename during a call
		t.Error("no rename failed a single call, so this proves nothing")
	}
}

// TestReopen: a directory that is open by O_PATH is listed, and a link is read by its name and by its descriptor.
func TestReopen(t *testing.T) {
	top := t.TempDir()
	if err := os.Symlink("somewhere", top+"/link"); err != nil {
		t.Fatal(err)
	}
	dir, err := unix.Open(top, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	fd, err := Reopen(dir)
	if err != nil {
		t.Fatal(err)
	}
	f := os.NewFile(uintptr(fd), top)
	defer f.Close()
	if names, err := f.Readdirnames(-1); err != nil || len(names) != 1 {
		t.Errorf("%q, %v", names, err)
	}
	link, err := unix.Openat(dir, "link", unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(link)
	for name, at := range map[string]int{"link": dir, "": link} {
		if target, err := Readlink(at, name); err != nil || target != "somewhere" {
			t.Errorf("%q leads to %q, %v", name, target, err)
		}
	}
	if target, err := Readlink(dir, "none"); !errors.Is(err, unix.ENOENT) || target != "" {
		t.Errorf("%q, %v", target, err)
	}
}
