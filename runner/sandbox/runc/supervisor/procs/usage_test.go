package procs

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// stat is a line of proc_pid_stat(5) for a process of that name.
func stat(name string) string {
	return "7 (" + name + ") R 1 7 7 0 -1 4194560 90 80 0 0 11 22 33 44 20 0 3 0 5000 2228224 6 18446744073709551615 1 1 0 0 0 0 0 0 0\n"
}

func TestReadUsage(t *testing.T) {
	proc := t.TempDir()
	for _, pid := range []int{1, 7, 12} {
		dir := filepath.Join(proc, strconv.Itoa(pid))
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat("sh")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(proc, "13"), 0o700); err != nil { // it has ended meanwhile
		t.Fatal(err)
	}
	bad := filepath.Join(proc, "7", "stat")
	want := sandbox.Usage{Memory: 18 * int64(os.Getpagesize()), Processes: 9, CPU: 3300 * time.Millisecond}
	if got, err := Usage(proc); err != nil || got != want {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	for _, text := range []string{"", "7 (sh) R 1 2 3", "7 (sh) R 1 7 7 0 -1 0 0 0 0 0 x 22 33 44 20 0 1 0 5 5 6 7"} {
		if err := os.WriteFile(bad, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, err := Usage(proc); err == nil {
			t.Errorf("%q is taken for %+v", text, got)
		}
	}
}
