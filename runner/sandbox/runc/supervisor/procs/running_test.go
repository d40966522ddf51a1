package procs

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCountRunning: threads count, names do not deceive, and init is not asked.
func TestCountRunning(t *testing.T) {
	proc := t.TempDir()
	for task, state := range map[string]string{
		"1/task/1": "S", // init
		"9/task/9": "T", "9/task/10": "R", "11/task/11": "S", "17/task/17": "t", "18/task/18": "D", "19/task/19": "Z", "72/task/72": "R",
	} {
		dir := filepath.Join(proc, task)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte("9 (a) T (b) "+state+" 1 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := CountRunning(proc); got != 3 || err != nil {
		t.Errorf("%d run (%v), want 3", got, err)
	}
}
