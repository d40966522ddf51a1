package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPromised: a directory is its own evidence, for its owner and where it is the one that was recorded.
func TestPromised(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scidex-analysis-x")
	w, err := MakeWorkdir(dir, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	recorded := Location{Dir: dir, Dev: w.Dev, Ino: w.Ino}
	if _, is := isPromised(recorded, os.Getuid()); is {
		t.Error("a directory that was just made is promised")
	}
	if err := w.Promise(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		location Location
		uid      int
		want     bool
	}{
		"recorded":           {recorded, os.Getuid(), true},
		"without an inode":   {Location{Dir: dir}, os.Getuid(), true},
		"another inode":      {Location{Dir: dir, Dev: w.Dev, Ino: w.Ino + 1}, os.Getuid(), false},
		"of another user":    {recorded, os.Getuid() + 1, false},
		"by a symbolic link": {Location{Dir: link}, os.Getuid(), false},
		"gone":               {Location{Dir: dir + "-gone"}, os.Getuid(), false},
		"none":               {Location{}, os.Getuid(), false},
	} {
		got, is := isPromised(c.location, c.uid)
		if is != c.want || is && (got.Ino != w.Ino || got.Dev != w.Dev) {
			t.Errorf("%s: %v, %+v", name, is, got)
		}
	}
}
