package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// stuck is a task of the first of two lines whose analysis has ended and is committed on its node, and whose spool is
// missing. Slurm's commands are fakes that accept the submission: the test is of the task, on a host without Slurm.
func stuck(t *testing.T) (h *harness, spool string, task *exec.Cmd, back func()) {
	t.Helper()
	h = newHarness(t)
	for _, name := range []string{"sbatch", "squeue", "scancel", "scontrol"} {
		h.write("tools/"+name, "#!/bin/sh\necho 7\n", 0o755)
	}
	h.write("tools/squeue", "#!/bin/sh\n", 0o755)
	h.write("tools/sacct", "#!/bin/sh\necho Slurm accounting storage is disabled >&2; exit 1\n", 0o755)
	h.write("tmp/.keep", "", 0o644)
	h.setenv("PATH", h.path("tools")+":"+os.Getenv("PATH"))
	h.setenv("SCIDEX_OCI_LIMITS", "best-effort")
	spool = h.path("spool")
	lines := fmt.Sprintf("{\"id\":%q,\"command\":[\"sh\",\"-c\",\"echo made >out\"]}\n{\"id\":%q,\"command\":[\"true\"]}\n", h.id("a"), h.id("b"))
	h.mustRun("slurm", "submit", "--spool", spool, h.write("lines.jsonl", lines, 0o644))
	if err := os.Rename(spool+"/blobs", spool+"/away"); err != nil {
		t.Fatal(err)
	}
	task = h.task(spool, 0)
	task.Stdout, task.Stderr = &strings.Builder{}, &strings.Builder{}
	if err := task.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = task.Process.Kill() // it may have ended
	})
	until(t, hangTimeout, "the node has committed the run", func() bool {
		roots := matches(h.path("tmp/scidex-oci-slurm-*"))
		return len(roots) == 1 && len(matches(roots[0]+"/catalog.db")) == 1 &&
			strings.Contains(h.do("--root", roots[0], "ls", "--json").stdout, `"state":"complete"`)
	})
	return h, spool, task, func() {
		if err := os.Rename(spool+"/away", spool+"/blobs"); err != nil {
			t.Fatal(err)
		}
	}
}

// task is the command of a task's script.
func (h *harness) task(spool string, n int) *exec.Cmd {
	return h.command(theHost.bin, "slurm", "task", "--tmp="+h.path("tmp"), spool, "0", fmt.Sprint(n))
}

func (h *harness) wantDelivered(spool string) {
	h.t.Helper()
	h.do("slurm", "collect", spool)
	if r := h.show(h.id("a")); r.State != "complete" || len(r.Outputs) != 1 {
		h.t.Errorf("%s, %s with %d outputs (%s)", r.State, r.Reason, len(r.Outputs), r.Message)
	}
	if left := matches(h.path("tmp/*slurm*")); len(left) > 0 {
		h.t.Errorf("left on the node: %q", left)
	}
}

// TestSlurmDeliveryOutlastsSignals: a finished result is delivered, whatever signals the task gets.
func TestSlurmDeliveryOutlastsSignals(t *testing.T) {
	h, spool, task, back := stuck(t)
	ended := make(chan error, 1)
	go func() { ended <- task.Wait() }()
	for end := time.Now().Add(2 * time.Second); time.Now().Before(end) && len(ended) == 0; time.Sleep(100 * time.Millisecond) {
		_ = task.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	back()
	if err := <-ended; err != nil {
		t.Errorf("the task: %v, %s", err, task.Stderr)
	}
	h.wantDelivered(spool)
}

// TestSlurmLeftResult kills a task that could not deliver: the user's next one on that node does.
func TestSlurmLeftResult(t *testing.T) {
	h, spool, task, back := stuck(t)
	send(t, task.Process.Pid, syscall.SIGKILL)
	_ = task.Wait() // it was killed
	back()
	if out := h.finish(h.task(spool, 1)); out.code != 0 {
		t.Fatalf("the next task: %d, %s", out.code, out.stderr)
	}
	h.wantDelivered(spool)
}
