package admission

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// TestReadMachine has at least what this process may use.
func TestReadMachine(t *testing.T) {
	if m := ReadMachine(); m.Memory <= 0 || m.CPUs < float64(runtime.NumCPU()) {
		t.Errorf("%+v", m)
	}
}

// TestMemoryOf reads what the kernel may say.
func TestMemoryOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "meminfo")
	for text, want := range map[string]int64{"MemTotal:  8 kB\nMemAvailable:   3 kB\n": 3 << 10, "MemAvailable: x kB\n": 0, "": 0} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := memoryOf(path, "MemAvailable:"); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := memoryOf("/nowhere", "MemAvailable:"); got != 0 {
		t.Errorf("of no file: %d", got)
	}
}
