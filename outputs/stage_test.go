package outputs

import (
	"context"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

func staged(t *testing.T, src, dst string, owner *Owner, bounds Bounds) map[string]Entry {
	t.Helper()
	from, to := openDir(t, src), openDir(t, dst)
	before := descriptors(t)
	entries, err := Stage(context.Background(), from, to, owner, bounds)
	must(t, err)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	got := map[string]Entry{}
	for _, e := range entries {
		got[string(e.Path)] = e
	}
	return got
}

func TestStage(t *testing.T) {
	src, dst := newTree(t), newTree(t)
	write0(t, src+"/a.csv", "1,2")
	write0(t, src+"/sub/deeper/b", "b")
	write0(t, src+"/z/c", "c")
	mkdir(t, src+"/empty")
	must(t, os.Link(src+"/a.csv", t.TempDir()+"/elsewhere")) // a user's own file may have other names
	must(t, os.Symlink("/etc/shadow", src+"/link"))
	for name, target := range map[string]string{"sub/up": "../a.csv", "sub/deeper/out": "../../../a.csv", "dangling": "none", "whole": src + "/a.csv"} {
		must(t, os.Symlink(target, src+"/"+name))
	}
	must(t, unix.Mkfifo(src+"/fifo", 0o644))
	must(t, unix.Chmod(src+"/z/c", 0o4511))
	var owner *Owner
	if os.Getuid() == 0 {
		owner = &Owner{12345, 12346}
	}
	got := staged(t, src, dst, owner, Bounds{})
	for path, content := range map[string]string{"a.csv": "1,2", "sub/deeper/b": "b", "z/c": "c"} {
		on, err := os.ReadFile(dst + "/" + path)
		if err != nil || string(on) != content {
			t.Errorf("%s: %q %v", path, on, err)
		}
		if e := got[path]; e.SHA256 != digest(content) || e.Size != int64(len(content)) {
			t.Errorf("%s: %+v", path, e)
		}
	}
	for _, path := range []string{"link", "whole", "sub/deeper/out"} {
		if got[path].Rejected != Symlink {
			t.Errorf("%s: %+v", path, got[path])
		}
	}
	for path, target := range map[string]string{"sub/up": "../a.csv", "dangling": "none"} {
		copied, err := os.Readlink(dst + "/" + path)
		if err != nil || copied != target || got[path].Rejected != "" || string(got[path].Detail) != "-> "+target {
			t.Errorf("%s: %q %v, %+v", path, copied, err, got[path])
		}
		var st unix.Stat_t
		if must(t, unix.Lstat(dst+"/"+path, &st)); owner != nil && int(st.Uid) != owner.UID {
			t.Errorf("%s belongs to %d", path, st.Uid)
		}
	}
	if got["fifo"].Rejected != FIFO || len(got) != 9 {
		t.Errorf("%+v", got)
	}
	for path, mode := range map[string]uint32{"/z/c": 0o711, "/empty": 0o755, "/a.csv": 0o644} {
		var st unix.Stat_t
		must(t, unix.Lstat(dst+path, &st))
		if st.Mode&0o7777 != mode || owner != nil && (int(st.Uid) != owner.UID || int(st.Gid) != owner.GID) {
			t.Errorf("%s: %o %d:%d", path, st.Mode, st.Uid, st.Gid)
		}
	}
	for _, path := range []string{"/link", "/whole", "/sub/deeper/out", "/fifo"} {
		if _, err := os.Lstat(dst + path); !os.IsNotExist(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestStageDeepTree(t *testing.T) {
	src, dst := newTree(t), newTree(t)
	deep(t, src, 200, "d")
	deep(t, src, 100, "e")
	if got := staged(t, src, dst, nil, Bounds{}); len(got) != 2 {
		t.Errorf("%d entries", len(got))
	}
}

func TestStageBounds(t *testing.T) {
	src, dst := newTree(t), newTree(t)
	write0(t, src+"/big", "12345678901")
	write0(t, src+"/small", "1")
	got := staged(t, src, dst, nil, Bounds{MaxBytes: 10})
	if got["big"].Rejected != TooLarge || got["small"].Rejected != "" {
		t.Errorf("%+v", got)
	}
}

func TestUnchanged(t *testing.T) {
	same := Unchanged([]Entry{{Path: []byte("a"), SHA256: digest("1")}, {Path: []byte("l"), Rejected: Symlink}, {Path: []byte("in"), Detail: []byte("-> a")}})
	for _, tc := range []struct {
		e    Entry
		want bool
	}{
		{Entry{Path: []byte("a"), SHA256: digest("1")}, true},
		{Entry{Path: []byte("a"), SHA256: digest("2")}, false},
		{Entry{Path: []byte("b"), SHA256: digest("1")}, false},
		{Entry{Path: []byte("l"), Rejected: Symlink}, false},
		{Entry{Path: []byte("a"), Rejected: Changed}, false},
		{Entry{Path: []byte("in"), Rejected: Symlink, Detail: []byte("-> a")}, true},
		{Entry{Path: []byte("in"), Rejected: Symlink, Detail: []byte("-> /etc/passwd")}, false},
		{Entry{Path: []byte("in"), SHA256: digest("1")}, false},
	} {
		if got := same(tc.e); got != tc.want {
			t.Errorf("%+v: %v", tc.e, got)
		}
	}
}
