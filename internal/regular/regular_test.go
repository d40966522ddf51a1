package regular_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/regular"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	socket, err := net.Listen("unix", at("socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for _, err := range []error{
		os.WriteFile(at("file"), []byte("content"), 0o600), os.Mkdir(at("dir"), 0o700), unix.Mkfifo(at("fifo"), 0o600),
		os.Symlink("file", at("link")), os.Symlink(".", at("here")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"dir": "a directory", "fifo": "a FIFO", "link": "a symbolic link", "socket": "a unix socket",
	} {
		_, err := regular.Open(at(name))
		if !errors.Is(err, regular.ErrIrregular) || !strings.Contains(err.Error(), at(name)+": it is "+want+" and no regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, want := range map[string]string{"here": "a directory", "fifo": "a FIFO", "socket": "a unix socket"} {
		if _, err := regular.OpenTarget(at(name)); !errors.Is(err, regular.ErrIrregular) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s as a target: %v", name, err)
		}
	}
	if _, err := regular.Open(os.DevNull); !errors.Is(err, regular.ErrIrregular) || !strings.Contains(err.Error(), "a device") {
		t.Errorf("a device: %v", err)
	}
	if _, err := regular.Open(at("none")); !errors.Is(err, os.ErrNotExist) || errors.Is(err, regular.ErrIrregular) {
		t.Errorf("missing: %v", err)
	}
	for _, name := range []string{"file", "here/file"} {
		f, err := regular.Open(at(name))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		f.Close()
	}
}

func TestOpenTarget(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(link+"ed", []byte("content"), 0o600), os.Symlink("linked", link)); err != nil {
		t.Fatal(err)
	}
	f, err := regular.OpenTarget(link)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
}

// A loop on the way does not show what the file is.
func TestOpenBehindALoop(t *testing.T) {
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if _, err := regular.Open(loop + "/file"); !errors.Is(err, unix.ELOOP) || errors.Is(err, regular.ErrIrregular) {
		t.Error(err)
	}
}
