package cgroupfs

import "testing"

func TestParseCPUMax(t *testing.T) {
	for text, want := range map[string]float64{"max 100000": 0, "50000 100000": 0.5, "200000 100000": 2} {
		if got, err := parseCPUMax(text); err != nil || got != want {
			t.Errorf("%q is %g (%v), want %g", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x 100000", "5", "5 0"} {
		if _, err := parseCPUMax(text); err == nil {
			t.Errorf("%q is taken", text)
		}
	}
}
