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
	left := func(path string, floor int64) int64 {
		dir, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer dir.Close()
		left, short, err := Floor{Bytes: floor}.Look(dir, "here")
		if err != nil || short != nil {
			t.Errorf("%s: %v, %v", path, short, err)
		}
		return left
	}
	if got := left("/proc", 4096); got != math.MaxInt64 {
		t.Errorf("a file system without a size has %d left", got)
	}
	// A tmpfs: little else writes there.
	if all, above := left("/dev/shm", 0), left("/dev/shm", 1<<20); all-above < 1<<19 || all-above > 1<<21 {
		t.Errorf("%d left, and %d above a floor of 1 MiB", all, above)
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
