package userfile

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func makeFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// readNamed is all that Open finds at path.
func readNamed(path string, wait time.Duration) (string, error) {
	f, from, err := Open(path, wait)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(from)
	return string(data), err
}

// leave writes to a FIFO as soon as it has a reader, and closes it.
func leave(path, text string) <-chan error {
	failed := make(chan error, 1)
	go func() { failed <- os.WriteFile(path, []byte(text), 0) }()
	return failed
}

func TestOpenNamedFIFO(t *testing.T) {
	if _, err := readNamed(makeFIFO(t), 0); err == nil || !strings.Contains(err.Error(), "nothing writes to it") {
		t.Errorf("no writer: %v", err)
	}
	for _, text := range []string{"", "id: x\n", strings.Repeat("x", 200_000)} {
		path := makeFIFO(t)
		failed := leave(path, text)
		got, err := readNamed(path, time.Minute)
		if werr := <-failed; err != nil || werr != nil || got != text {
			t.Errorf("%d bytes: got %d, %v; %v", len(text), len(got), err, werr)
		}
	}
}

// Process substitution of a shell gives such a name; its writer may have ended by now.
func TestOpenNamedPipe(t *testing.T) {
	for _, text := range []string{"", "id: x\n"} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		if _, err := w.WriteString(text); err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got, err := readNamed(fmt.Sprintf("/dev/fd/%d", r.Fd()), 0); err != nil || got != text {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestOpenNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(file, []byte("id: x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for path, want := range map[string]string{file: "id: x\n", fmt.Sprintf("/dev/fd/%d", f.Fd()): "id: x\n", os.DevNull: ""} {
		if got, err := readNamed(path, 0); err != nil || got != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	if _, err := readNamed(filepath.Dir(file), 0); err == nil || !strings.Contains(err.Error(), "is a directory; give a file") {
		t.Errorf("a directory: %v", err)
	}
}
