package freespace

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

// directory is one on a tmpfs, which little else writes to, and what is free there.
func directory(t *testing.T) (*os.File, Free) {
	t.Helper()
	path, err := os.MkdirTemp("/dev/shm", "freespace")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(path) })
	dir, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dir.Close() })
	return dir, freeOn(t, dir)
}

func freeOn(t *testing.T, dir *os.File) Free {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(dir.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	return Free{int64(st.Bavail) * st.Bsize, int64(st.Ffree)}
}

func fill(t *testing.T, dir *os.File, bytes int) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir.Name(), "a"), make([]byte, bytes), 0o600); err != nil {
		t.Error(err)
	}
}

// fillSoon fills it while the test waits, and before the test ends, so that the next one starts with what is free then.
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
	dir, had := directory(t)
	marks := []Mark{{Dir: dir, Low: Free{had.Bytes - 4<<20, -1}, High: had}}
	fillSoon(t, dir, 8<<20)
	new(Watch).Wait(rest, ages, marks)
	if left := freeOn(t, dir); left.Bytes > marks[0].Low.Bytes {
		t.Errorf("over with %d bytes free, above %d", left.Bytes, marks[0].Low.Bytes)
	}
}

func TestWaitForInodes(t *testing.T) {
	dir, had := directory(t)
	marks := []Mark{{Dir: dir, Low: Free{-1, -1}, High: had}, {Dir: dir, Low: Free{-1, had.Inodes - 1}, High: had}}
	fillSoon(t, dir, 0)
	new(Watch).Wait(rest, ages, marks)
	if left := freeOn(t, dir); left.Inodes > marks[1].Low.Inodes {
		t.Errorf("over with %d inodes free, above %d", left.Inodes, marks[1].Low.Inodes)
	}
}

// TestMarksRise: space that is freed may be taken again before the mark is reached.
func TestMarksRise(t *testing.T) {
	dir, _ := directory(t)
	fill(t, dir, 8<<20)
	had := freeOn(t, dir)
	drop := Free{4 << 20, 1 << 20}
	marks := []Mark{{Dir: dir, Low: Free{had.Bytes - drop.Bytes, had.Inodes - drop.Inodes}, High: had}}
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
	dir, _ := directory(t)
	fixed := Mark{Dir: dir, Low: Free{-1, -1}, High: Free{math.MaxInt64, math.MaxInt64}}
	marks := []Mark{fixed}
	new(Watch).Wait(rest, 3, marks)
	if marks[0] != fixed {
		t.Errorf("%+v", marks[0])
	}
}

func TestWaitThatCannotSee(t *testing.T) {
	dir, had := directory(t)
	dir.Close()
	new(Watch).Wait(rest, ages, []Mark{{Dir: dir, Low: Free{-1, -1}, High: had}}) // a closed file has no descriptor
}

func TestStop(t *testing.T) {
	var w Watch
	time.AfterFunc(20*rest, w.Stop)
	w.Wait(time.Hour, ages, nil)
	w.Wait(time.Hour, ages, nil) // and those to come
}
