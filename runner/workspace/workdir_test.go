package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// TestWorkdirOfMovedBase: what takes the location of the base of working directories is left alone.
func TestWorkdirOfMovedBase(t *testing.T) {
	dir := inodetest.Tree(t, "base/", "decoy/scidex-analysis-x/work/")
	w, err := MakeWorkdir(dir+"/base/scidex-analysis-x", os.Getuid(), os.Getgid())
	inodetest.Try(t, err)
	defer w.Close()
	inodetest.Try(t, os.Rename(dir+"/base", dir+"/moved"), os.Rename(dir+"/decoy", dir+"/base"))
	inodetest.Try(t, w.Remove())
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
	inodetest.Try(t, os.Chmod(base, 0o777|os.ModeSetgid))
	w, err := MakeWorkdir(base+"/scidex-analysis-x", os.Getuid(), os.Getgid())
	inodetest.Try(t, err)
	inodetest.Try(t, w.Remove(), w.Close())
}

// TestWorkdirLives until it is closed: that keeps it out of other runs.
func TestWorkdirLives(t *testing.T) {
	w, err := MakeWorkdir(RunDir(t.TempDir(), "x"), os.Getuid(), os.Getgid())
	inodetest.Try(t, err)
	dir := inodetest.Open(t, w.Path)
	if !lockdir.RunLocked(int(dir.Fd())) {
		t.Error("it is not known to live")
	}
	inodetest.Try(t, w.Close())
	if lockdir.RunLocked(int(dir.Fd())) {
		t.Error("closed: it still lives")
	}
}

func TestOpenInode(t *testing.T) {
	dir := inodetest.Tree(t, "a/", "b/")
	f, err := OpenDir(-1, dir+"/a")
	inodetest.Try(t, err)
	defer f.Close()
	dev, ino, err := identity(f)
	inodetest.Try(t, err, os.Symlink("a", dir+"/link"))
	recorded := Location{Dev: dev, Ino: ino}
	for path, there := range map[string]bool{"a": true, "b": false, "none": false} {
		got, err := OpenInode(filepath.Join(dir, path), recorded)
		if there != (err == nil) || !there && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", path, err)
		}
		if err == nil {
			got.Close()
		}
	}
	for name, location := range map[string]Location{"link": recorded, "a": {}} {
		if got, err := OpenInode(filepath.Join(dir, name), location); err == nil {
			t.Errorf("%s, %+v: taken", name, location)
			got.Close()
		}
	}
}
