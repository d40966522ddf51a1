package capacity

import "testing"

// TestWithout leaves room for a template where memory is the bound, and nowhere else.
func TestWithout(t *testing.T) {
	const each = 2 << 30
	for _, test := range []struct {
		has      Capacity
		template int64
		want     int
	}{
		{Capacity{Memory: 8 << 30, CPUs: 8}, 0, 4},
		{Capacity{Memory: 8 << 30, CPUs: 8}, each, 3},
		{Capacity{Memory: 8 << 30, CPUs: 2}, each, 2},
		{Capacity{Memory: each, CPUs: 8}, each, 1},
		{Capacity{Memory: 1 << 30, CPUs: 8}, each, 1},
		{Capacity{CPUs: 8}, each, 8},
	} {
		if got := test.has.Without(test.template).Runs(each, 1); got != test.want {
			t.Errorf("%+v: %d runs", test, got)
		}
	}
}
