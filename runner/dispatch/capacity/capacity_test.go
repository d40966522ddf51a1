package capacity

import (
	"runtime"
	"testing"
)

// TestReadMachine has at least what this process may use.
func TestReadMachine(t *testing.T) {
	if m := ReadMachine(); m.Memory <= 0 || m.CPUs < float64(runtime.NumCPU()) {
		t.Errorf("%+v", m)
	}
	if n := processorsOf("/nowhere"); n != 0 {
		t.Errorf("%v processors", n)
	}
}

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
