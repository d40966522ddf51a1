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

// TestMarkOfTheFloor: a wait is over when there is one byte less than the floor, and never where no size is told.
func TestMarkOfTheFloor(t *testing.T) {
	for path, want := range map[string]int64{t.TempDir(): 4095, "/proc": -1} {
		dir, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		mark, short, err := Floor{Bytes: 4096}.Look(dir, "here")
		if err != nil || short != nil || mark.Dir != dir || mark.Low.Bytes != want || mark.Low.Inodes != -1 {
			t.Errorf("%s: %+v, %v, %v", path, mark, short, err)
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
