package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// TestUnharvested: a directory counts until it is gone, also under the name that the next attempt leaves it.
func TestUnharvested(t *testing.T) {
	root, tmp := t.TempDir(), t.TempDir()
	expect := func(dirs int, bytes int64, last string) {
		t.Helper()
		got, err := ReadUnharvested(root)
		if want := (Unharvested{dirs, bytes, last}); err != nil || got != want {
			t.Errorf("%+v, %v; want %+v", got, err, want)
		}
	}
	note := func(key catalog.Key, bytes int64) string {
		t.Helper()
		dir := RunDir(tmp, key.ID)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Lstat(dir, &st); err != nil {
			t.Fatal(err)
		}
		for range 2 { // a rescue may note it again
			if err := NoteUnharvested(root, key, Location{Dir: dir, Dev: st.Dev, Ino: st.Ino}, bytes); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	expect(0, 0, "")
	a := note(catalog.Key{ID: "a", Attempt: 2}, 5)
	expect(1, 5, a)
	b := note(catalog.Key{ID: "b", Attempt: 1}, 7)
	expect(2, 12, b)
	another := RunDir(tmp, "another")
	if err := errors.Join(os.Mkdir(another, 0o700), os.Remove(b), os.Rename(another, b)); err != nil {
		t.Fatal(err)
	}
	expect(1, 5, a)
	if err := os.Rename(a, AsidePath(a, 2)); err != nil {
		t.Fatal(err)
	}
	expect(1, 5, AsidePath(a, 2))
	if err := os.WriteFile(filepath.Join(root, "unharvested", "a@2"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	expect(1, 0, "")
}
