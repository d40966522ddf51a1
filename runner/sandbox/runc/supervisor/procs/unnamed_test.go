package procs

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestUnnamed(t *testing.T) {
	work, elsewhere := t.TempDir(), "/dev/shm"
	open := func(dir, name string, bytes int) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Remove(f.Name()); _ = f.Close() })
		if _, err := f.Write(make([]byte, bytes)); err != nil {
			t.Fatal(err)
		}
		return f
	}
	lost := open(work, "lost", 1<<20)
	twice, err := os.Open(lost.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer twice.Close()
	named, linked := open(work, "named (deleted)", 1), open(work, "linked", 1)
	other := open(elsewhere, fmt.Sprintf("scidex-unnamed-%d", os.Getpid()), 1)
	if err := os.Link(linked.Name(), work+"/its other name"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*os.File{lost, linked, other} {
		if err := os.Remove(f.Name()); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Unnamed("/proc", []string{work}, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[*os.File]int64{lost: 1 << 20, named: -1, linked: -1, other: -1} {
		var st unix.Stat_t
		if err := unix.Fstat(int(f.Fd()), &st); err != nil {
			t.Fatal(err)
		}
		got := int64(-1)
		for _, inode := range list { // of other processes of this host there may be more
			if inode.Dev == st.Dev && inode.Ino == st.Ino {
				if got >= 0 {
					t.Errorf("%s is found twice", f.Name())
				}
				got = inode.Bytes
			}
		}
		if (want < 0) != (got < 0) || want > 0 && (got < want || got > want+64<<10) {
			t.Errorf("%s: %d bytes, want %d", f.Name(), got, want)
		}
	}
}
