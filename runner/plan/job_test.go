package plan

import "testing"

// TestFilesFor: beside analyses with a single id, launchers have as many descriptors again.
func TestFilesFor(t *testing.T) {
	for _, c := range []struct {
		hard   uint64
		single bool
		want   uint64
	}{
		{1 << 20, false, 0},
		{65536, false, 0},
		{20000, false, 20000},
		{1024, false, 1024},
		{1 << 20, true, 4096},
		{20000, true, 4096},
		{4096, true, 2048},
		{1024, true, 512},
	} {
		if got := filesFor(c.hard, c.single); got != c.want {
			t.Errorf("hard limit %d, single id %t: %d, want %d", c.hard, c.single, got, c.want)
		}
	}
}
