package sandbox

import (
	"strings"
	"testing"
)

func TestTailKeepsTheEnd(t *testing.T) {
	words := &tail{}
	for range 3 {
		if _, err := words.Write([]byte(strings.Repeat("x", tailSize-1) + "y")); err != nil {
			t.Fatal(err)
		}
	}
	if got := words.String(); len(got) != tailSize || !strings.HasSuffix(got, "xy") {
		t.Errorf("kept %d bytes, ending in %q", len(got), got[max(0, len(got)-5):])
	}
}
