package lowwater

import (
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	rest = time.Millisecond
	ages = math.MaxInt32 // looks: weeks, which no test waits for
)

// pond is a directory on a file system in memory, which little else writes to, and what is free there.
func pond(t *testing.T) (*os.File, Supply) {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "lowwater")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir, free(t, dir)
}

func free(t *testing.T, dir *os.File) Supply {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return Supply{int64(st.Bavail) * st.Bsize, int64(st.Ffree)}
}

func fill(t *testing.T, dir *os.File, bytes int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir.Name(), "a"), make([]byte, bytes), 0o600); err != nil {
		t.Error(err)
	}
}

// fillSoon fills it while the test waits, and has done so before the test ends: what the next one has free is not to change.
func fillSoon(t *testing.T, dir *os.File, bytes int) {
	t.Helper()
	var filling sync.WaitGroup
	filling.Go(func() {
		time.Sleep(20 * rest)
		fill(t, dir, bytes)
	})
	t.Cleanup(filling.Wait)
}

func TestWaitForBytes(t *testing.T) {
	dir, had := pond(t)
	marks := []Mark{{Dir: dir, Low: Supply{had.Bytes - 4<<20, -1}, High: had}}
	fillSoon(t, dir, 8<<20)
	new(Watch).Wait(rest, ages, marks)
	if left := free(t, dir); left.Bytes > marks[0].Low.Bytes {
		t.Errorf("over with %d bytes free, above %d", left.Bytes, marks[0].Low.Bytes)
	}
}

func TestWaitForInodes(t *testing.T) {
	dir, had := pond(t)
	marks := []Mark{{Dir: dir, Low: Supply{-1, -1}, High: had}, {Dir: dir, Low: Supply{-1, had.Inodes - 1}, High: had}}
	fillSoon(t, dir, 0)
	new(Watch).Wait(rest, ages, marks)
	if left := free(t, dir); left.Inodes > marks[1].Low.Inodes {
		t.Errorf("over with %d inodes free, above %d", left.Inodes, marks[1].Low.Inodes)
	}
}

// TestMarksRise: what somebody gives back may be taken again, without which the mark would be reached later.
func TestMarksRise(t *testing.T) {
	dir, _ := pond(t)
	fill(t, dir, 8<<20)
	had := free(t, dir)
	drop := Supply{4 << 20, 1 << 20}
	marks := []Mark{{Dir: dir, Low: Supply{had.Bytes - drop.Bytes, had.Inodes - drop.Inodes}, High: had}}
	if err := os.Remove(filepath.Join(dir.Name(), "a")); err != nil {
		t.Fatal(err)
	}
	new(Watch).Wait(rest, 1, marks)
	got := marks[0]
	if got.High.Bytes < had.Bytes+4<<20 || got.High.Inodes < had.Inodes+1 {
		t.Errorf("it had %+v, 8 MiB and an inode more then, and the mark is %+v", had, got)
	}
	if got.High.Bytes-got.Low.Bytes != drop.Bytes || got.High.Inodes-got.Low.Inodes != drop.Inodes {
		t.Errorf("%+v are not %+v apart", got, drop)
	}
}

// TestFixedMark: a mark below all that can be free stays where it is.
func TestFixedMark(t *testing.T) {
	dir, _ := pond(t)
	fixed := Mark{Dir: dir, Low: Supply{-1, -1}, High: Supply{math.MaxInt64, math.MaxInt64}}
	marks := []Mark{fixed}
	new(Watch).Wait(rest, 3, marks)
	if marks[0] != fixed {
		t.Errorf("%+v", marks[0])
	}
}

func TestWaitThatCannotSee(t *testing.T) {
	dir, had := pond(t)
	dir.Close()
	new(Watch).Wait(rest, ages, []Mark{{Dir: dir, Low: Supply{-1, -1}, High: had}}) // a closed file has no descriptor
}

func TestStop(t *testing.T) {
	var w Watch
	time.AfterFunc(20*rest, w.Stop)
	w.Wait(time.Hour, ages, nil)
	w.Wait(time.Hour, ages, nil) // and those to come
}
