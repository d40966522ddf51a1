package sqlite

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// opened opens a catalog that is closed when the test ends.
func opened(t *testing.T, path string) *Catalog {
	t.Helper()
	c, err := Open(t.Context(), path)
	must(t, err)
	t.Cleanup(func() { must(t, c.Close()) })
	return c
}

// closed makes a catalog that nothing has open.
func closed(t *testing.T, path string) {
	t.Helper()
	c, err := Open(t.Context(), path)
	must(t, err)
	must(t, c.Close())
}

// freeze removes the write permission of a directory until the test ends.
func freeze(t *testing.T, dir string) {
	t.Helper()
	must(t, os.Chmod(dir, 0o500))
	t.Cleanup(func() { must(t, os.Chmod(dir, 0o700)) })
}

// content is what a regular file holds, and nothing if there is none.
func content(t *testing.T, path string) string {
	t.Helper()
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	must(t, err)
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

func TestOpenAnyPath(t *testing.T) {
	for _, name := range []string{
		"catalog.db", "a?b", "a?mode=memory", "a#b", "a%41b", "a%", "a%00b", "a b", "a&b=c", "a;b", "a+b", "\xff", "a\nb", "ä",
		"file:x", ":memory:", "-", `a\b`, `a"b`, "a'b",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			// The relative path makes it and the absolute one finds it.
			relative := opened(t, name)
			must(t, relative.Create(t.Context(), sample("a")))
			absolute := opened(t, filepath.Join(dir, name))
			if _, err := absolute.Get(t.Context(), catalog.Key{ID: "a"}); err != nil {
				t.Error(err)
			}
			want := []string{name, name + "-shm", name + "-wal", name + ".lock"}
			if got := names(t, dir); !slices.Equal(got, want) {
				t.Errorf("files %q, want %q", got, want)
			}
		})
	}
}

func TestOpenThroughLink(t *testing.T) {
	dir := t.TempDir()
	opened(t, filepath.Join(dir, "real.db"))
	must(t, os.Symlink("real.db", filepath.Join(dir, "link.db")))
	must(t, opened(t, filepath.Join(dir, "link.db")).Create(t.Context(), sample("a")))
	if _, err := opened(t, filepath.Join(dir, "real.db")).Get(t.Context(), catalog.Key{ID: "a"}); err != nil {
		t.Error(err)
	}
}

// Only its owner reads the catalog, whatever the umask leaves.
func TestOpenMode(t *testing.T) {
	dir := t.TempDir()
	must(t, opened(t, filepath.Join(dir, "catalog.db")).Create(t.Context(), sample("a")))
	files := names(t, dir)
	if len(files) != 4 {
		t.Errorf("files %q, want the database, its log, its index and the lock", files)
	}
	for _, name := range files {
		info, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if info.Mode() != 0o600 {
			t.Errorf("%s has the mode %s, want -rw-------", name, info.Mode())
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	write := func(text string) func(*testing.T, string) {
		return func(t *testing.T, path string) { must(t, os.WriteFile(path, []byte(text), 0o600)) }
	}
	tests := []struct {
		name  string
		file  string // below a directory of the test's own
		setUp func(t *testing.T, path string)
		want  string
	}{
		{"directory", "d", func(t *testing.T, path string) { must(t, os.Mkdir(path, 0o700)) }, "is a directory"},
		{"FIFO", "f", func(t *testing.T, path string) { must(t, unix.Mkfifo(path, 0o600)) }, "no regular file"},
		{"no directory", "missing/catalog.db", nil, "does not exist; make it first"},
		{"file as directory", "f/catalog.db", func(t *testing.T, path string) {
			must(t, os.WriteFile(filepath.Dir(path), nil, 0o600))
		}, "does not exist; make it first"},
		{"NUL", "a\x00b", nil, "cannot be the name of a file"},
		{"dangling link", "l", func(t *testing.T, path string) { must(t, os.Symlink("nowhere", path)) }, "no such file"},
		{"text", "t", write(strings.Repeat("this is not a database\n", 500)), "not a SQLite database"},
		{"short text", "t", write("hello"), "not a SQLite database"},
		{"another program's", "o", func(t *testing.T, path string) {
			execute(t, path, `CREATE TABLE bookmark (url TEXT)`)
		}, "of another program"},
		{"another program's by its mark", "o", func(t *testing.T, path string) {
			execute(t, path, `PRAGMA application_id = 7`)
		}, "of another program"},
		{"another program's with goose", "o", func(t *testing.T, path string) {
			execute(t, path, `CREATE TABLE goose_db_version (version_id INTEGER); INSERT INTO goose_db_version VALUES (1)`)
		}, "of another program"},
		{"read-only file", "catalog.db", func(t *testing.T, path string) {
			closed(t, path)
			must(t, os.Chmod(path, 0o400))
		}, "the file cannot be written"},
		{"read-only directory", "d/catalog.db", func(t *testing.T, path string) {
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			closed(t, path)
			freeze(t, filepath.Dir(path))
		}, "cannot be written"},
		{"nothing in a read-only directory", "d/catalog.db", func(t *testing.T, path string) {
			must(t, os.Mkdir(filepath.Dir(path), 0o700))
			freeze(t, filepath.Dir(path))
		}, "cannot be made in"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), tt.file)
			if tt.setUp != nil {
				tt.setUp(t, path)
			}
			before := content(t, path)
			var err error
			withoutOverride(t, func() {
				var c *Catalog
				if c, err = Open(t.Context(), path); err == nil {
					err = errors.Join(errors.New("it was opened"), c.Close())
				}
			})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("error %q, want one that says %q", err, tt.want)
			}
			if strings.ContainsAny(err.Error(), "\n\x00") {
				t.Errorf("error %q is no single sentence", err)
			}
			if content(t, path) != before {
				t.Error("the refused file was changed")
			}
		})
	}
	t.Run("empty", func(t *testing.T) {
		if _, err := Open(t.Context(), ""); err == nil {
			t.Error("the empty path was opened")
		}
	})
}

// withoutOverride runs do on a thread to which file modes apply, also if the test is root's. The thread ends with it.
func withoutOverride(t *testing.T, do func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked
		header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
		var data [2]unix.CapUserData
		err := unix.Capget(&header, &data[0])
		if err == nil {
			data[0].Effective &^= 1<<unix.CAP_DAC_OVERRIDE | 1<<unix.CAP_DAC_READ_SEARCH
			err = unix.Capset(&header, &data[0])
		}
		if err == nil {
			do()
		}
		done <- err
	}()
	must(t, <-done)
}

func TestExplain(t *testing.T) {
	for code, want := range map[sqlite3.ErrNo]string{
		sqlite3.ErrNotADB:   "name another",
		sqlite3.ErrCorrupt:  "restore it",
		sqlite3.ErrFull:     "free some space",
		sqlite3.ErrReadonly: "make them writable",
		sqlite3.ErrCantOpen: "make them writable",
		sqlite3.ErrBusy:     "try again",
	} {
		cause := sqlite3.Error{Code: code}
		err := explain(cause)
		if !strings.Contains(err.Error(), want) || !errors.Is(err, cause) {
			t.Errorf("explain(%v) = %q, want it to say %q", code, err, want)
		}
	}
	if err := explain(fs.ErrExist); !errors.Is(err, fs.ErrExist) || err.Error() != fs.ErrExist.Error() {
		t.Errorf("an error that is not SQLite's became %q", err)
	}
}

// Nothing stays open, whether a handle was used, unused or refused.
func TestNothingLeftOpen(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "text"), []byte("hello, this is text"), 0o600))
	descriptors := func() int { return len(names(t, "/proc/self/fd")) }
	base, goroutines := descriptors(), runtime.NumGoroutine()
	for range 20 {
		c, err := Open(t.Context(), filepath.Join(dir, "catalog.db"))
		must(t, err)
		run := sample("a")
		_ = c.Create(t.Context(), run)
		_ = c.Outputs(t.Context(), run.Key, nil)
		must(t, c.Close())
		if _, err := Open(t.Context(), filepath.Join(dir, "text")); err == nil {
			t.Fatal("a text was opened")
		}
	}
	if got := descriptors(); got > base { // an earlier test may have left one to the garbage collector
		t.Errorf("%d descriptors are open, %d were at first", got, base)
	}
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > goroutines; {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines run, %d did at first", runtime.NumGoroutine(), goroutines)
		}
		runtime.Gosched()
	}
	if got := names(t, dir); !slices.Equal(got, []string{"catalog.db", "catalog.db.lock", "text"}) {
		t.Errorf("files left: %q", got)
	}
}
