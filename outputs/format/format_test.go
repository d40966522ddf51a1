package format

import "testing"

func TestDuration(t *testing.T) {
	for ms, want := range map[int64]string{0: "0s", 21: "21ms", 1234: "1.23s", 59_999: "1m0s", 61_400: "1m1s", 3_600_000: "1h0m0s"} {
		if got := Duration(ms); got != want {
			t.Errorf("Duration(%d) = %q, want %q", ms, got, want)
		}
	}
}
