package e2e

import (
	"fmt"
	"os"
	"testing"
)

// cwltool is the line of cwltool 3.1.20230209 (docker.py, create_runtime), called with --strict-memory-limit and --strict-cpu-limit, for a
// tool whose ResourceRequirement has ramMin and coresMin.
func (h *harness) cwltool(name, memory, cpus string, command ...string) []string {
	h.t.Helper()
	for _, dir := range []string{"out", "tmp"} {
		if err := os.MkdirAll(h.path(dir), 0o755); err != nil {
			h.t.Fatal(err)
		}
	}
	line := []string{
		"run", "-i", "--mount=type=bind,source=" + h.path("out") + ",target=/QkZxYt", "--mount=type=bind,source=" + h.path("tmp") + ",target=/tmp",
		"--workdir=/QkZxYt", "--read-only=true", "--net=none", "--log-driver=none", fmt.Sprintf("--user=%d:%d", os.Geteuid(), os.Getegid()), "--rm",
		"--cidfile=" + h.path(name+".cid"), "--env=TMPDIR=/tmp", "--env=HOME=/QkZxYt", "--memory=" + memory, "--cpus=" + cpus, tool,
	}
	return append(line, command...)
}

// TestDockerLimits: the limits that cwltool passes are enforced.
func TestDockerLimits(t *testing.T) {
	h := newHarness(t)
	run := func(name, script string) (outcome, result) {
		out := h.docker(h.cwltool(name, "64m", "2", "sh", "-c", script)...)
		id, err := os.ReadFile(h.path(name + ".cid"))
		if err != nil {
			t.Fatalf("%v: %+v", err, out)
		}
		return out, h.show(string(id))
	}
	out, r := run("good", "echo done")
	r.expect(t, "complete", "exit", 0)
	if out.code != 0 || out.stdout != "done\n" {
		t.Errorf("%+v", out)
	}
	if memory, cpus := r.enforcement("memory"), r.enforcement("cpus"); memory.Asked != "67108864" || cpus.Asked != "2" {
		t.Errorf("memory %+v, processors %+v", memory, cpus)
	}
	if !theHost.cgroup {
		return // an rlimit does not end an analysis
	}
	out, r = run("hog", "echo before >before; exec "+hog)
	r.expect(t, "failed", "out_of_memory", 137)
	if limit := r.enforcement("memory"); limit.Effective != "67108864" || limit.By != "cgroup" || out.code != 137 {
		t.Errorf("%+v, %+v", limit, out)
	}
	h.expectOut("before")
}
