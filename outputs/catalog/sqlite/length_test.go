package sqlite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longPath is a path of so many bytes whose directory exists.
func longPath(t *testing.T, length int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for length-len(dir) > 220 {
		dir = filepath.Join(dir, strings.Repeat("d", 100))
	}
	must(t, os.MkdirAll(dir, 0o700))
	return filepath.Join(dir, strings.Repeat("f", length-len(dir)-1))
}

// For a path that is too long SQLite only reports that it cannot be opened, as for a file without rights.
func TestLengthOfThePath(t *testing.T) {
	longest, tooLong := longPath(t, maxPath), longPath(t, maxPath+1)
	c, err := Open(t.Context(), longest)
	must(t, err)
	must(t, c.Create(t.Context(), sample("a")))
	must(t, c.Close())
	if _, err := Open(t.Context(), tooLong); err == nil || !strings.Contains(err.Error(), "has 505 bytes, and SQLite takes at most 504") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(tooLong); !os.IsNotExist(err) {
		t.Errorf("a file was made: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	must(t, os.Symlink(filepath.Dir(tooLong), link))
	if _, err := Open(t.Context(), filepath.Join(link, filepath.Base(tooLong))); err == nil || !strings.Contains(err.Error(), "at most 504") {
		t.Errorf("through a link: %v", err)
	}
}
