package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestWorkdirOfMovedBase: what takes the place of the base of working directories is left alone.
func TestWorkdirOfMovedBase(t *testing.T) {
	dir := tree(t, "base/", "decoy/scidex-analysis-x/work/")
	w, err := makeWorkdir(dir+"/base/scidex-analysis-x", os.Getuid(), os.Getgid())
	try(t, err)
	defer w.close()
	try(t, os.Rename(dir+"/base", dir+"/moved"), os.Rename(dir+"/decoy", dir+"/base"))
	try(t, w.remove())
	if left, err := filepath.Glob(dir + "/moved/*"); err != nil || len(left) > 0 {
		t.Errorf("left %q, %v", left, err)
	}
	if _, err := os.Lstat(dir + "/base/scidex-analysis-x/work"); err != nil {
		t.Error(err)
	}
}

// TestWorkdirInSharedBase: a set-group-id bit is inherited by what is made below it.
func TestWorkdirInSharedBase(t *testing.T) {
	base := t.TempDir()
	try(t, os.Chmod(base, 0o777|os.ModeSetgid))
	w, err := makeWorkdir(base+"/scidex-analysis-x", os.Getuid(), os.Getgid())
	try(t, err)
	try(t, w.remove(), w.close())
}

func TestOpenInode(t *testing.T) {
	dir := tree(t, "a/", "b/")
	f, err := openDir(-1, dir+"/a")
	try(t, err)
	defer f.Close()
	dev, ino, err := identity(f)
	try(t, err, os.Symlink("a", dir+"/link"))
	recorded := Place{Dev: dev, Ino: ino}
	for path, there := range map[string]bool{"a": true, "b": false, "none": false} {
		got, err := openInode(filepath.Join(dir, path), recorded)
		if there != (err == nil) || !there && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			got.Close()
		}
	}
	for name, place := range map[string]Place{"link": recorded, "a": {}} {
		if got, err := openInode(filepath.Join(dir, name), place); err == nil {
			t.Errorf("%s, %+v: taken", name, place)
			got.Close()
		}
	}
}
