package rootfs

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWithLimits(t *testing.T) {
	dir := t.TempDir()
	if err := WithLimits(Tree{}, 1<<30, 0.25).Populate(dir); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"cpu.max": "25000 100000\n", "cpu/cpu.cfs_quota_us": "25000\n", "cpu/cpu.cfs_period_us": "100000\n",
		"memory.max": "1073741824\n", "memory.high": "max\n", "memory/memory.limit_in_bytes": "1073741824\n", "cgroup.controllers": "cpu memory\n",
	} {
		if got, err := os.ReadFile(filepath.Join(dir, cgroupDir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v, want %q", name, got, err, want)
		}
	}
}
