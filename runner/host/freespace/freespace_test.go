package freespace

import (
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestFloorShort(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	for _, floor := range []Floor{{}, {Bytes: 1}, {Percent: 1e-9}} {
		if short, err := floor.Short(dir, "here"); short != nil || err != nil {
			t.Errorf("%v: %v, %v", floor, short, err)
		}
	}
	for _, floor := range []Floor{{Bytes: math.MaxInt64}, {Percent: 99.999999}} {
		short, err := floor.Short(dir, "here")
		if err != nil || short == nil || short.Free >= short.Floor || !strings.Contains(short.String(), "here") {
			t.Errorf("%v: %v, %v", floor, short, err)
		}
	}
	proc, err := os.Open("/proc") // says that it has no blocks
	if err != nil {
		t.Fatal(err)
	}
	defer proc.Close()
	if short, err := (Floor{Percent: 50, Bytes: 1 << 40}).Short(proc, "proc"); short != nil || err != nil {
		t.Errorf("a file system without a size: %v, %v", short, err)
	}
}

// TestLeftAboveTheFloor: what is left shrinks with the floor, and has no end if the file system reports no size.
func TestLeftAboveTheFloor(t *testing.T) {
	for _, c := range []struct {
		blocks, free uint64 // of 4 KiB
		floor        Floor
		left         int64
		below        bool
	}{
		{100, 50, Floor{}, 50 * 4096, false},
		{100, 50, Floor{Bytes: 49 * 4096}, 4096, false},
		{100, 50, Floor{Percent: 50}, 0, false},
		{100, 50, Floor{Bytes: 51 * 4096}, -4096, true},
		{100, 0, Floor{Bytes: math.MaxInt64}, -math.MaxInt64, true},
		{0, 0, Floor{Bytes: 1}, math.MaxInt64, false},
	} {
		st := unix.Statfs_t{Blocks: c.blocks, Bavail: c.free, Bsize: 4096}
		if left := c.floor.left(&st); left != c.left || c.floor.Below(&st) != c.below {
			t.Errorf("%+v: %d left, below it: %v", c, left, c.floor.Below(&st))
		}
	}
}

// TestShareEndsAtMost: of a large file system less than its share is kept.
func TestShareEndsAtMost(t *testing.T) {
	for blocks, want := range map[uint64]int64{100: 5 * 4096, 1000: 50 * 4096, 10_000: 60 * 4096} {
		st := unix.Statfs_t{Blocks: blocks, Bsize: 4096}
		if got := (Floor{Percent: 5, Most: 60 * 4096}).of(&st); got != want {
			t.Errorf("of %d blocks: %d, want %d", blocks, got, want)
		}
	}
}
