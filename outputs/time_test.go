package outputs

import (
	"os"
	"testing"
	"time"
)

func past() time.Time { return time.Unix(1_000_000_000, 0) }

// waitForTick returns when the file system's clock has moved on, since a change within one tick leaves the same ctime.
func waitForTick(t *testing.T, dir string) {
	t.Helper()
	first := stamp(t, dir)
	for !stamp(t, dir).After(first) {
		time.Sleep(time.Millisecond)
	}
}

func stamp(t *testing.T, dir string) time.Time {
	t.Helper()
	f, err := os.CreateTemp(dir, "tick")
	must(t, err)
	defer os.Remove(f.Name())
	defer f.Close()
	info, err := f.Stat()
	must(t, err)
	return info.ModTime()
}
