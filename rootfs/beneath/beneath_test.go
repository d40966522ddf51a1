package beneath

import (
	"errors"
	"os"
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
