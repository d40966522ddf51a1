package serve

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// stale makes a socket on which nothing listens.
func stale(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	must(t, err)
	l.SetUnlinkOnClose(false)
	must(t, l.Close())
}

func answers(path string) error {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	return c.Close()
}

func TestListen(t *testing.T) {
	dir, err := os.MkdirTemp("", "socket") // a short path
	must(t, err)
	defer os.RemoveAll(dir)
	long := filepath.Join(dir, strings.Repeat("x", 107-len(dir)-1))
	for _, path := range []string{dir + "/new", dir + "/stale", long} {
		if path == dir+"/stale" {
			stale(t, path)
		}
		l, err := listen(path)
		must(t, err, answers(path))
		info, err := os.Lstat(path)
		must(t, err)
		if info.Mode() != os.ModeSocket|0o600 {
			t.Errorf("%s has the mode %s", path, info.Mode())
		}
		if _, err := listen(path); err == nil {
			t.Errorf("%s was taken from one that listens", path)
		}
		must(t, l.Close())
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	must(t, os.WriteFile(dir+"/file", nil, 0o600))
	for path, want := range map[string]string{dir + "/file": "no socket", long + "x": "at most 107 bytes", dir + "/none/x": "no such file"} {
		if _, err := listen(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestListenKeepsToItsOwn: what has taken the name of a socket, or of its directory, is not removed.
func TestListenKeepsToItsOwn(t *testing.T) {
	top, err := os.MkdirTemp("", "socket")
	must(t, err)
	defer os.RemoveAll(top)
	dir := top + "/dir"
	must(t, os.Mkdir(dir, 0o700))
	l, err := listen(dir + "/socket")
	must(t, err)
	must(t, os.Remove(dir+"/socket"))
	must(t, os.WriteFile(dir+"/socket", []byte("another"), 0o600), l.Close())
	if _, err := os.Lstat(dir + "/socket"); err != nil {
		t.Errorf("another file was removed: %v", err)
	}
	must(t, os.Remove(dir+"/socket"))
	l, err = listen(dir + "/socket")
	must(t, err, os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700))
	stale(t, dir+"/socket")
	must(t, l.Close())
	if _, err := os.Lstat(dir + "/socket"); err != nil {
		t.Errorf("a file of another directory was removed: %v", err)
	}
	if left, err := os.ReadDir(dir + ".old"); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestListenForAnother: root makes and removes sockets in a user's directory with that user's rights.
func TestListenForAnother(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be led to what the user may not change")
	}
	const another = 54321
	top, err := os.MkdirTemp("", "socket")
	must(t, err)
	defer os.RemoveAll(top)
	must(t, os.Chmod(top, 0o711), os.Mkdir(top+"/foreign", 0o755), os.Mkdir(top+"/roots", 0o755), os.Symlink("../roots", top+"/foreign/out"), os.Chown(top+"/foreign", another, another))
	stale(t, top+"/roots/stale")
	for _, name := range []string{"new", "stale"} {
		if _, err := listen(top + "/foreign/out/" + name); err == nil {
			t.Errorf("%s was made for another user", name)
		}
	}
	if left, err := os.ReadDir(top + "/roots"); err != nil || len(left) != 1 {
		t.Errorf("%v, %v", left, err)
	}
	l, err := listen(top + "/foreign/socket")
	must(t, err, answers(top+"/foreign/socket"))
	var st unix.Stat_t
	if err := unix.Lstat(top+"/foreign/socket", &st); err != nil || st.Uid != another {
		t.Errorf("uid %d, %v", st.Uid, err)
	}
	must(t, l.Close())
}
