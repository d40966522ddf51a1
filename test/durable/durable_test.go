package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that records its messages.
type recorder struct {
	testing.TB
	said []string
}

func (r *recorder) Helper() {}

func (r *recorder) Error(args ...any) { r.said = append(r.said, fmt.Sprint(args...)) }

func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}

// TestCheck makes each mistake that the check is for.
func TestCheck(t *testing.T) {
	for _, test := range []struct {
		name       string
		sync       func(f *os.File) error
		rename     func(from, to string) error
		dir, after bool
		want       string
	}{
		{"well", (*os.File).Sync, os.Rename, true, false, ""},
		{"link", (*os.File).Sync, os.Link, true, false, ""},
		{"no sync", func(*os.File) error { return nil }, os.Rename, true, false, "not synced before"},
		{"link without sync", func(*os.File) error { return nil }, os.Link, true, false, "not synced before"},
		{"written after the sync", (*os.File).Sync, os.Rename, true, true, "not synced before"},
		{"no sync of the directory", (*os.File).Sync, os.Rename, false, false, "its directory is not synced"},
		{"no name", (*os.File).Sync, func(string, string) error { return nil }, true, false, "no file got a name"},
	} {
		r := &recorder{TB: t}
		dir := t.TempDir()
		Check(r, func() error {
			f, err := os.Create(filepath.Join(dir, "new"))
			if err != nil {
				return err
			}
			_, err = f.WriteString("one")
			err = errors.Join(err, test.sync(f))
			if test.after {
				_, more := f.WriteString("two")
				err = errors.Join(err, more)
			}
			err = errors.Join(err, f.Close(), test.rename(f.Name(), filepath.Join(dir, "name")))
			if !test.dir {
				return err
			}
			return errors.Join(err, syncDir(dir))
		})
		if got := strings.Join(r.said, "; "); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: said %q, want %q", test.name, got, test.want)
		}
	}
}

// TestCheckDirectories: a directory is lost, with all in it, if the one above is not synced after it was made.
func TestCheckDirectories(t *testing.T) {
	for name, want := range map[string]string{"not synced": "dir: its directory is not synced", "synced": "", "removed": ""} {
		r := &recorder{TB: t}
		top, other := t.TempDir(), t.TempDir()
		Check(r, func() error {
			err := errors.Join(os.Mkdir(filepath.Join(top, "dir"), 0o700), wellNamed(other))
			switch name {
			case "synced":
				err = errors.Join(err, syncDir(top))
			case "removed":
				err = errors.Join(err, os.Remove(filepath.Join(top, "dir")))
			}
			return err
		})
		if got := strings.Join(r.said, "; "); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: said %q, want %q", name, got, want)
		}
	}
}

// wellNamed makes no mistake: Check wants a file that gets a name.
func wellNamed(dir string) error {
	f, err := os.Create(filepath.Join(dir, "new"))
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close(), os.Rename(f.Name(), filepath.Join(dir, "name")), syncDir(dir))
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
