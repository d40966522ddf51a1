package lockdir

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestSweepContent removes what a client has left, and nothing that one holds.
func TestSweepContent(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	held, err := MakeContent()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	left, err := MakeContent()
	if err != nil {
		t.Fatal(err)
	}
	if err := left.Close(); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(os.TempDir(), "scidex-staging-0")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(os.TempDir(), contentPrefix+"link")
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	mine := filepath.Join(os.TempDir(), contentPrefix+"of-mine") // made by a user, who wants to keep it
	if err := os.Mkdir(mine, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if removed, err := SweepContent(dry); err != nil || !slices.Equal(removed, []string{left.Name()}) {
			t.Errorf("dry %v: %q, %v", dry, removed, err)
		}
	}
	for path, want := range map[string]bool{held.Name(): true, other: true, link: true, mine: true, left.Name(): false} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	t.Setenv("TMPDIR", t.TempDir()) // and the client has another
	elsewhere, err := MakeContent()
	if err != nil {
		t.Fatal(err)
	}
	if err := elsewhere.Close(); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(t.TempDir(), contentPrefix+"of-mine") // made by a user, who wants to keep it
	if err := os.Mkdir(own, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", t.TempDir())
	for dir, want := range map[string]bool{held.Name(): true, other: true, own: true, elsewhere.Name(): false} {
		err := SweepContentOf(filepath.Join(dir, "analysis.py"), "")
		if _, failed := os.Stat(dir); err != nil || (failed == nil) != want {
			t.Errorf("%s: %v, %v", dir, err, failed)
		}
	}
}
