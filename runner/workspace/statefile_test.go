package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

func TestTenure(t *testing.T) {
	root, key := t.TempDir(), catalog.Key{ID: "a.b-c", Attempt: 2}
	held, err := Lock(root, key)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Lock(root, key); !errors.Is(err, ErrLocked) {
		t.Errorf("a second holder gets %v, want errAlive", err)
	}
	long := Location{Dir: "/tmp/scidex-analysis-a.b-c", Dev: 1, Ino: 2, Groups: []string{"/sys/fs/cgroup/x"}}
	short := Location{Dir: "/tmp/x"}
	for _, p := range []Location{long, short} {
		if err := held.Record(p); err != nil {
			t.Fatal(err)
		}
		if got := (&StateFile{Path: held.Path}).Read(Location{}); got.Dir != p.Dir || got.Ino != p.Ino {
			t.Errorf("read %+v, recorded %+v", got, p)
		}
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Lock(root, key)
	if err != nil {
		t.Fatalf("a dead launcher's run cannot be held: %v", err)
	}
	if err := again.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(StatePath(root, key)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the state file of an ended run is still there: %v", err)
	}
}

func TestTenureDamaged(t *testing.T) {
	fallback := Location{Dir: "/from/the/catalog"}
	for name, text := range map[string]string{"empty": "", "half": `{"dir":"/tm`, "not JSON": "\x00\x00", "without a directory": "{}"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "x@1.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := (&StateFile{Path: path}).Read(fallback); got.Dir != fallback.Dir {
				t.Errorf("read %+v", got)
			}
		})
	}
}

func TestKeyOfState(t *testing.T) {
	for name, want := range map[string]catalog.Key{
		"a@1.json": {ID: "a", Attempt: 1}, "a.json@x@12.json": {}, "a.b_c-1@12.json": {ID: "a.b_c-1", Attempt: 12},
		"a.json": {}, "a@0.json": {}, "a@-1.json": {}, "a@1": {}, "": {}, "a@1x.json": {},
	} {
		got, ok := KeyOfState(name)
		if ok != (want.ID != "") || ok && got != want {
			t.Errorf("%q is %+v, %v; want %+v", name, got, ok, want)
		}
	}
}

func TestMakeWorkdir(t *testing.T) {
	base := t.TempDir()
	path := filepath.Join(base, "scidex-analysis-x")
	w, err := MakeWorkdir(path, os.Getuid(), os.Getgid())
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for _, dir := range []string{path, filepath.Join(path, WorkName)} {
		info, err := os.Lstat(dir)
		if err != nil || info.Mode() != os.ModeDir|0o700 {
			t.Errorf("%s has mode %v (%v)", dir, info.Mode(), err)
		}
	}
	if !IsInode(path, Location{Dev: w.Dev, Ino: w.Ino}) {
		t.Error("the directory is not the inode that was recorded")
	}
	if err := w.Remove(); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("left: %v (%v)", entries, err)
	}
}

func TestMakeWorkdirRefusesWhatIsThere(t *testing.T) {
	base, victim := t.TempDir(), t.TempDir()
	for name, put := range map[string]func(path string) error{
		"directory": func(p string) error { return os.Mkdir(p, 0o777) },
		"file":      func(p string) error { return os.WriteFile(p, nil, 0o600) },
		"symlink":   func(p string) error { return os.Symlink(victim, p) },
		"dangling":  func(p string) error { return os.Symlink(victim+"/none", p) },
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(base, name)
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := MakeWorkdir(path, os.Getuid(), os.Getgid()); !errors.Is(err, os.ErrExist) {
				t.Errorf("got %v", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) || before.Mode() != after.Mode() {
				t.Errorf("it was touched: %v (%v)", after, err)
			}
			if entries, err := os.ReadDir(victim); err != nil || len(entries) != 0 {
				t.Errorf("the link was followed: %v (%v)", entries, err)
			}
		})
	}
}
