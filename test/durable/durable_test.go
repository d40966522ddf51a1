package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test that notes what it is told.
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
			d, failed := os.Open(dir)
			return errors.Join(err, failed, d.Sync(), d.Close())
		})
		if got := strings.Join(r.said, "; "); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
			t.Errorf("%s: said %q, want %q", test.name, got, test.want)
		}
	}
}
