package e2e

import (
	"os/exec"
	"testing"
)

// TestLimitsShown: programs that look for the limits of their container find those of the run, and cannot change them.
func TestLimitsShown(t *testing.T) {
	h := newHarness(t)
	script := `cd /sys/fs/cgroup; cat memory.max cpu.max memory/memory.limit_in_bytes cpu/cpu.cfs_quota_us cpu,cpuacct/cpu.cfs_period_us
(echo 1 >memory.max) 2>/dev/null || echo read-only; echo $LOKY_MAX_CPU_COUNT $NUMBA_NUM_THREADS $MC_CORES $RAYON_NUM_THREADS $POLARS_MAX_THREADS
`
	want := "536870912\n150000 100000\n536870912\n150000\n100000\nread-only\n2 2 2 2 7\n"
	if _, err := exec.LookPath("node"); err == nil { // a real one, if there is one
		script, want = script+`node -p 'process.constrainedMemory()'`, want+"536870912\n"
	}
	for _, more := range [][]string{nil, {"--limits", "best-effort"}} {
		args := append(flags("--id", h.newID(), "--memory", "512MiB", "--cpus", "1.5", "--env", "POLARS_MAX_THREADS=7"), more...)
		r := h.start(append(args, "--", "sh", "-c", script)...)
		r.expect(t, "complete", "exit", 0)
		if got := h.stdoutOf(r); got != want {
			t.Errorf("%q: %q, want %q", more, got, want)
		}
	}
}
