package outputs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"golang.org/x/sys/unix"
)

func target(t *testing.T, dir string, overwrite bool) *Target {
	t.Helper()
	to, err := OpenTarget(dir, overwrite)
	must(t, err)
	t.Cleanup(func() { must(t, to.Close()) })
	return to
}

func TestTargetPut(t *testing.T) {
	dir := t.TempDir() + "/new/out"
	before := descriptors(t)
	to, err := OpenTarget(dir, false)
	must(t, err)
	for _, p := range []string{"a", "sub/b", "sub/c", "sub/x/d", "\xff\n/-rf", "z"} {
		must(t, to.Put([]byte(p), 0o4640|fs.ModeSetuid, strings.NewReader(p)))
		got, err := os.ReadFile(dir + "/" + p)
		if err != nil || string(got) != p {
			t.Errorf("%q: %q %v", p, got, err)
		}
	}
	info, err := os.Stat(dir + "/sub/x/d")
	if err != nil || info.Mode()&^0o22 != 0o640 { // whatever the umask
		t.Errorf("%v %v", info.Mode(), err)
	}
	must(t, to.Put([]byte("locked"), 0, strings.NewReader("")))
	if info, err := os.Stat(dir + "/locked"); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	must(t, to.Close())
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestOpenTargetRefusesDirectoriesThatAreNotEmpty(t *testing.T) {
	dir := t.TempDir()
	write0(t, dir+"/mine", "1")
	_, err := OpenTarget(dir, false)
	if err == nil || !strings.Contains(err.Error(), "is not empty") || !strings.Contains(err.Error(), dir) {
		t.Error(err)
	}
	target(t, dir, true)
	if _, err := OpenTarget(dir+"/mine", true); err == nil {
		t.Error("a file is no target")
	}
	link := t.TempDir() + "/link"
	must(t, os.Symlink(t.TempDir(), link))
	target(t, link, false) // the user named it
}

func TestTargetRefusesPaths(t *testing.T) {
	dir := t.TempDir()
	to := target(t, dir+"/out", false)
	for _, p := range []string{"", "/", "/a", "..", "../a", "a/../../b", "a/..", ".", "./a", "a//b", "a/", "a\x00b"} {
		if err := to.Put([]byte(p), 0o644, strings.NewReader("x")); err == nil {
			t.Errorf("%q was written", p)
		}
	}
	names, err := os.ReadDir(dir)
	if err != nil || len(names) != 0 { // it is made for the first file
		t.Errorf("%v %v", names, err)
	}
}

func TestTargetFollowsNoSymlink(t *testing.T) {
	outside, dir := t.TempDir(), t.TempDir()
	write0(t, outside+"/victim", "untouched")
	must(t, os.Symlink(outside, dir+"/dir"))
	must(t, os.Symlink(outside+"/victim", dir+"/file"))
	must(t, os.Symlink(".", dir+"/self"))
	mkdir(t, dir+"/real")
	must(t, unix.Mkfifo(dir+"/fifo", 0o644))
	to := target(t, dir, true)
	for _, p := range []string{"dir/victim", "dir/new", "file", "self/a", "real", "fifo", "fifo/a"} {
		if err := to.Put([]byte(p), 0o644, strings.NewReader("evil")); err == nil {
			t.Errorf("%q was written", p)
		}
	}
	if got, _ := os.ReadFile(outside + "/victim"); string(got) != "untouched" {
		t.Errorf("%q", got)
	}
	for _, d := range []string{dir, outside} {
		names, err := os.ReadDir(d)
		must(t, err)
		for _, n := range names {
			if strings.HasPrefix(n.Name(), ".scidex") || n.Name() == "new" || n.Name() == "a" {
				t.Errorf("left %s in %s", n.Name(), d)
			}
		}
	}
}

func TestTargetOverwrites(t *testing.T) {
	dir := t.TempDir()
	write0(t, dir+"/a", "old")
	must(t, os.Link(dir+"/a", dir+"/other name"))
	must(t, target(t, dir, true).Put([]byte("a"), 0o644, strings.NewReader("new")))
	if got, _ := os.ReadFile(dir + "/a"); string(got) != "new" {
		t.Errorf("%q", got)
	}
	if got, _ := os.ReadFile(dir + "/other name"); string(got) != "old" {
		t.Errorf("replaced in place: %q", got)
	}
	to := target(t, t.TempDir(), false)
	must(t, to.Put([]byte("a"), 0o644, strings.NewReader("1")))
	if err := to.Put([]byte("a"), 0o644, strings.NewReader("2")); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

func TestTargetLeavesNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	broken := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(io.ErrUnexpectedEOF))
	err := target(t, dir, false).Put([]byte("sub/a"), 0o644, broken)
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
	names, err := os.ReadDir(dir + "/sub")
	if err != nil || len(names) != 0 {
		t.Errorf("%v %v", names, err)
	}
}

func FuzzTargetPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", "/etc", "a//b", "a\x00", ".", "a/./b", "..."} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, path []byte) {
		if checkPath(path) != nil {
			return
		}
		if path[0] == '/' || bytes.IndexByte(path, 0) >= 0 || bytes.HasSuffix(path, []byte("/")) {
			t.Errorf("%q was accepted", path)
		}
		for _, part := range strings.Split(string(path), "/") {
			if part == "" || part == "." || part == ".." {
				t.Errorf("%q was accepted", path)
			}
		}
	})
}
