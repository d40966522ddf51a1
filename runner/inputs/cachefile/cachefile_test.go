package cachefile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
)

func TestOldFilesGo(t *testing.T) {
	dir := t.TempDir()
	now := time.Now()
	want := map[string]bool{}
	for i := range kept + 5 {
		name := fmt.Sprintf("%02d", i)
		inodetest.Try(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600), os.Chtimes(filepath.Join(dir, name), now, now.Add(-time.Duration(i)*time.Minute)))
		if i < kept {
			want[name] = true
		}
	}
	for name, age := range map[string]time.Duration{temporary + "young": time.Minute, temporary + "old": 2 * time.Hour} {
		path := filepath.Join(dir, name)
		inodetest.Try(t, os.WriteFile(path, nil, 0o600), os.Chtimes(path, now, now.Add(-age)))
		if age < time.Hour {
			want[name] = true
		}
	}
	inodetest.Try(t, prune(dir))
	got := map[string]bool{}
	entries, err := os.ReadDir(dir)
	inodetest.Try(t, err)
	for _, e := range entries {
		got[e.Name()] = true
	}
	if !maps.Equal(got, want) {
		t.Errorf("left %v, want %v", got, want)
	}
}

// TestReplace: a file is there as a whole or as it was, and nothing lies about.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "file")
	write := func(text string, failure error) error {
		return Replace(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, failure)
		})
	}
	inodetest.Try(t, write("one", nil))
	if err := write("tw", io.ErrShortWrite); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("error %v", err)
	}
	f, size, err := Open(path, 3)
	inodetest.Try(t, err)
	defer f.Close()
	if raw, err := io.ReadAll(f); string(raw) != "one" || size != 3 || err != nil {
		t.Errorf("%q, %d bytes, %v", raw, size, err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for name, prepare := range map[string]func() error{
		"others may write":    func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o602)) },
		"the group may write": func() error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o620)) },
		"too large":           func() error { return os.WriteFile(path, make([]byte, 11), 0o600) },
		"a directory":         func() error { return os.Mkdir(path, 0o700) },
		"a link":              func() error { return os.Symlink(dir, path) },
	} {
		t.Run(name, func(t *testing.T) {
			inodetest.Try(t, os.RemoveAll(path), prepare())
			if f, _, err := Open(path, 10); err == nil {
				f.Close()
				t.Error("opened")
			}
		})
	}
	if _, _, err := Open(filepath.Join(dir, "none"), 10); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v", err)
	}
}
