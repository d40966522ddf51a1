package outputs

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOwn(t *testing.T) {
	outside := t.TempDir()
	write0(t, outside+"/theirs", "1")
	must(t, os.Chmod(outside+"/theirs", 0o400))
	dir := newTree(t)
	write0(t, dir+"/sub/setid", "1")
	write0(t, dir+"/locked/in", "1")
	write0(t, dir+"/pair", "1")
	must(t, os.Link(dir+"/pair", dir+"/pair2"))
	must(t, os.Link(outside+"/theirs", dir+"/theirs"))
	must(t, unix.Mkfifo(dir+"/fifo", 0))
	must(t, os.Symlink(outside, dir+"/link"))
	must(t, unix.Chmod(dir+"/sub/setid", 0o6555))
	must(t, unix.Chmod(dir+"/pair", 0o4000))
	must(t, unix.Chmod(dir+"/sub", 0o3550))
	must(t, unix.Chmod(dir+"/locked/in", 0))
	must(t, unix.Chmod(dir+"/locked", 0))
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 12345, 12346
	}
	must(t, Own(context.Background(), openDir(t, dir), uid, gid, nil))
	for path, mode := range map[string]uint32{
		"/sub": 0o750, "/sub/setid": 0o755, "/locked": 0o700, "/locked/in": 0o600, "/pair": 0o600, "/pair2": 0o600,
		"/fifo": 0o600, "/link": 0o777,
	} {
		var st unix.Stat_t
		must(t, unix.Lstat(dir+path, &st))
		if st.Mode&0o7777 != mode || int(st.Uid) != uid || int(st.Gid) != gid {
			t.Errorf("%s: %o %d:%d", path, st.Mode&0o7777, st.Uid, st.Gid)
		}
	}
	var st unix.Stat_t
	for _, path := range []string{outside + "/theirs", outside} {
		must(t, unix.Lstat(path, &st))
		if int(st.Uid) != os.Getuid() || path != outside && st.Mode&0o7777 != 0o400 {
			t.Errorf("%s was changed: %o %d", path, st.Mode, st.Uid)
		}
	}
}

func TestLift(t *testing.T) {
	links := map[string]string{"data": "/data", "docs": "/docs"}
	for _, tc := range []struct {
		name  string
		make  []string
		after []string
		taken string // makes it fail
	}{
		{name: "plain", make: []string{"a", "sub/b"}, after: []string{"a", "sub/b"}},
		{name: "same name", make: []string{"work/c", "a"}, after: []string{"work/c", "a"}},
		{name: "empty"},
		{name: "taken", make: []string{"a"}, taken: "a", after: []string{"a"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			parent := newTree(t)
			mkdir(t, parent+"/work")
			for _, p := range tc.make {
				write0(t, parent+"/work/"+p, p)
			}
			must(t, os.Symlink("/data", parent+"/work/data"))
			must(t, os.Symlink("/etc", parent+"/work/docs"))
			if tc.taken != "" {
				write0(t, parent+"/"+tc.taken, tc.taken)
			}
			err := Lift(openDir(t, parent+"/work"), openDir(t, parent), "work", links)
			if (err != nil) != (tc.taken != "") {
				t.Fatal(err)
			}
			for _, p := range tc.after {
				if got, err := os.ReadFile(parent + "/" + p); err != nil || string(got) != p {
					t.Errorf("%s: %q %v", p, got, err)
				}
			}
			if err != nil {
				return
			}
			names, err := os.ReadDir(parent)
			must(t, err)
			want := map[string]bool{"docs": true} // a link, but not one of scidex-oci's
			for _, p := range tc.make {
				want[firstPart(p)] = true
			}
			for _, n := range names {
				if !want[n.Name()] {
					t.Errorf("unexpected %s", n.Name())
				}
			}
			if len(names) != len(want) {
				t.Errorf("%v", names)
			}
		})
	}
}

func firstPart(p string) string {
	for i := range p {
		if p[i] == '/' {
			return p[:i]
		}
	}
	return p
}

func TestLiftMany(t *testing.T) {
	parent := newTree(t)
	manyFiles(t, mkdir(t, parent+"/work"), 3000)
	must(t, Lift(openDir(t, parent+"/work"), openDir(t, parent), "work", nil))
	names, err := os.ReadDir(parent)
	if err != nil || len(names) != 3000 {
		t.Errorf("%d %v", len(names), err)
	}
}

func TestLiftRefusesAnotherDirectory(t *testing.T) {
	parent := newTree(t)
	mkdir(t, parent+"/work")
	write0(t, parent+"/other/a", "1")
	if err := Lift(openDir(t, parent+"/other"), openDir(t, parent), "work", nil); err == nil {
		t.Error("lifted a directory of another name")
	}
}
