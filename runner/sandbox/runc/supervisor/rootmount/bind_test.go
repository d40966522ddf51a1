package rootmount

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwapped: what is bound must be the inode that was checked, not another one of the same file system.
func TestSwapped(t *testing.T) {
	var files [2]*os.File
	var st [2]unix.Stat_t
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), "file"))
		if err == nil {
			err = unix.Fstat(int(f.Fd()), &st[i])
		}
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	if err := check(files[0], st[0].Dev, st[0].Ino); err != nil {
		t.Errorf("the same file: %v", err)
	}
	if err := check(files[0], st[1].Dev, st[1].Ino); !errors.Is(err, errSwapped) {
		t.Errorf("another file: %v", err)
	}
	if err := check(files[0], st[0].Dev+1, st[0].Ino); !errors.Is(err, errSwapped) {
		t.Errorf("another file system: %v", err)
	}
}
