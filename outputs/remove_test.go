package outputs

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestEmptyRemovesLockedDirectories(t *testing.T) {
	dir := t.TempDir()
	write0(t, dir+"/a/b/c/file", "1")
	write0(t, dir+"/-rf/\xff\n", "1")
	write0(t, dir+"/"+strings.Repeat("x", 255), "1")
	must(t, unix.Mkfifo(dir+"/fifo", 0))
	must(t, os.Symlink("/etc", dir+"/a/link"))
	must(t, os.Symlink("gone", dir+"/dangling"))
	for _, p := range []string{"/a/b/c", "/a/b", "/a", "/-rf", ""} {
		must(t, os.Chmod(dir+p, 0o500))
	}
	must(t, os.Chmod(dir+"/a", 0))
	f := openDir(t, dir)
	must(t, os.Chmod(dir, 0))
	must(t, Empty(context.Background(), f))
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestEmptyManyFiles(t *testing.T) {
	dir := t.TempDir()
	manyFiles(t, mkdir(t, dir+"/a/b"), 5000)
	must(t, Empty(context.Background(), openDir(t, dir)))
	if _, err := os.Stat(dir + "/a"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestEmptyKeepsOutsideLinksTarget(t *testing.T) {
	outside := t.TempDir()
	write0(t, outside+"/kept", "1")
	dir := t.TempDir()
	must(t, os.Symlink(outside, dir+"/link"))
	must(t, os.Link(outside+"/kept", dir+"/hard"))
	must(t, Empty(context.Background(), openDir(t, dir)))
	if got, err := os.ReadFile(outside + "/kept"); err != nil || string(got) != "1" {
		t.Errorf("%q %v", got, err)
	}
}

func TestEmptyCancel(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := Empty(ctx, openDir(t, dir)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Stat(dir + "/a"); err != nil {
		t.Error(err)
	}
}

func TestEmptyEndsOnlyWithAPassThatRemovedNothing(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	w, err := newWalk(openDir(t, dir))
	must(t, err)
	defer w.close()
	e := &emptying{walk: w, gone: []int{1}}
	for range 2 { // "a" and the end
		_, _, err := w.next()
		must(t, err)
	}
	e.stay("b", unix.EBUSY)
	if done, err := e.pass(1); done || err != nil {
		t.Errorf("%v %v", done, err)
	}
	if name, ok, err := w.next(); name != "a" || !ok || err != nil {
		t.Errorf("the next pass saw %q %v %v", name, ok, err)
	}
	e.stay("a", unix.EBUSY)
	done, err := e.pass(0)
	if !done || !errors.Is(err, unix.EBUSY) || !strings.Contains(err.Error(), `remove "a"`) {
		t.Errorf("%v %v", done, err)
	}
}
