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

// TestReadFiles reads what the kernel may say.
func TestReadFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for text, want := range map[string]Resources{
		"cpu  9 9\ncpu0 1 1\ncpu12 1 1\nintr 3\n": {CPUs: 2},
		"MemTotal:  8 kB\nMemAvailable:   3 kB\n": {Memory: 3 << 10},
		"MemAvailable: x kB\n":                    {},
		"":                                        {},
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := (Resources{memoryOf(path, "MemAvailable:"), processorsOf(path)}); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
	if got := (Resources{memoryOf("/nowhere", "MemAvailable:"), processorsOf("/nowhere")}); got != (Resources{}) {
		t.Errorf("of no file: %+v", got)
	}
}
