package runner

import (
	"os"
	"path/filepath"
	"testing"
)

// TestPromised: a directory is its own evidence, for its owner and where it is the one that was recorded.
func TestPromised(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scidex-analysis-x")
	w, err := makeWorkdir(dir, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	defer w.close()
	link := dir + "-link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	recorded := Place{Dir: dir, Dev: w.dev, Ino: w.ino}
	if _, is := isPromised(recorded, os.Getuid()); is {
		t.Error("a directory that was just made is promised")
	}
	if err := w.promise(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		place Place
		uid   int
		want  bool
	}{
		"recorded":           {recorded, os.Getuid(), true},
		"without an inode":   {Place{Dir: dir}, os.Getuid(), true},
		"another inode":      {Place{Dir: dir, Dev: w.dev, Ino: w.ino + 1}, os.Getuid(), false},
		"of another user":    {recorded, os.Getuid() + 1, false},
		"by a symbolic link": {Place{Dir: link}, os.Getuid(), false},
		"gone":               {Place{Dir: dir + "-gone"}, os.Getuid(), false},
		"none":               {Place{}, os.Getuid(), false},
	} {
		got, is := isPromised(c.place, c.uid)
		if is != c.want || is && (got.Ino != w.ino || got.Dev != w.dev) {
			t.Errorf("%s: %v, %+v", name, is, got)
		}
	}
}
