package e2e

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The search for leftovers finds everything of a running analysis but mounts, which only its supervisor has.
func TestLeftoversAreFound(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, append(flags("run", "--quiet", "--id", h.id("l")), shell("echo ready; exec sleep 10000")...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if theHost.root || !theHost.ranged { // see processesOf
		wrong := eventually(func() []string { // the analysis has no environment for a moment, on its way to sleep
			if found := processesOf(h.run); len(found) != 2 { // the init and the analysis
				return []string{fmt.Sprintf("%q", found)}
			}
			return nil
		})
		for _, found := range wrong {
			t.Errorf("processes: %s", found)
		}
	}
	if groups := groupsOf(h.run); (len(groups) > 0) != theHost.cgroup {
		t.Errorf("control groups: %q", groups)
	}
	for what, found := range map[string][]string{
		"directory": matches("/tmp/scidex-analysis-" + h.run + "*"), "state": matches(filepath.Join(h.root, "runs", "*")),
		"ingest": matches(filepath.Join(h.root, "blobs", "ingest", "*")),
	} {
		if len(found) != 1 {
			t.Errorf("%s: %q", what, found)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted: %v", err)
	}
	h.show(h.id("l")).expect(t, "canceled", "stopped", 130)
}

func TestOrphansAreFound(t *testing.T) {
	orphan := exec.Command("sh", "-c", "sleep 10000 >/dev/null 2>&1 & echo $!")
	out, err := orphan.Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	found := slices.ContainsFunc(orphans(), func(p string) bool { return strings.HasPrefix(p, "process "+strconv.Itoa(pid)+":") })
	if !found {
		t.Errorf("process %d is not among %q", pid, orphans())
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Kill(); err != nil {
		t.Error(err)
	}
}
