package sandbox

import "testing"

// TestWeakestWall: one directory without an overlay is what a reader has to know of.
func TestWeakestWall(t *testing.T) {
	for _, test := range []struct{ one, other, want SocketWall }{
		{"", "", ""},
		{"", WallOverlay, WallOverlay},
		{"", WallScan, WallScan},
		{WallOverlay, WallOverlay, WallOverlay},
		{WallOverlay, WallScan, WallScan},
		{WallScan, WallOverlay, WallScan},
		{WallScan, WallScan, WallScan},
	} {
		if got := test.one.Weaker(test.other); got != test.want {
			t.Errorf("of %q and %q the weaker is %q, want %q", test.one, test.other, got, test.want)
		}
	}
}
