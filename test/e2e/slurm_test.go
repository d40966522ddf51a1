package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These tests use a real Slurm, which scripts/test slurm starts and in whose network they run.

// cluster is what scripts/slurm prints.
type cluster struct {
	Conf    string `json:"conf"`
	Dir     string `json:"dir"`
	Held    string `json:"held"`
	Control string `json:"control"`
}

// onSlurm is a harness that may call Slurm.
func onSlurm(t *testing.T) (*harness, cluster) {
	t.Helper()
	line := os.Getenv("SCIDEX_OCI_TEST_SLURM")
	if line == "" {
		t.Skip("there is no Slurm here: scripts/test slurm starts one")
	}
	var c cluster
	if err := json.Unmarshal([]byte(line), &c); err != nil {
		t.Fatal(err)
	}
	h := newHarness(t)
	h.setenv("SLURM_CONF", c.Conf)
	h.setenv("SCIDEX_OCI_LIMITS", "outer")
	h.setenv("SCIDEX_OCI_TMP", h.path("tmp"))
	h.setenv("PGPASSWORD", "no-node-sees-this")
	if err := os.Mkdir(h.path("tmp"), 0o755); err != nil {
		t.Fatal(err)
	}
	return h, c
}

// slurm calls one of Slurm's commands, which must succeed.
func (h *harness) slurm(name string, args ...string) string {
	h.t.Helper()
	out := h.finish(h.command(name, args...))
	if out.code != 0 {
		h.t.Fatalf("%s %q: %s", name, args, out.stderr)
	}
	return out.stdout
}

// endJobs ends what is left of a submission with its test.
func (h *harness) endJobs(spool string) {
	h.t.Cleanup(func() {
		cmd := exec.Command(theHost.bin, "slurm", "cancel", "--now", spool)
		cmd.Env = h.env
		if out, err := cmd.CombinedOutput(); err != nil {
			h.t.Errorf("cancel: %v: %s", err, out)
		}
		if h.t.Failed() {
			status := exec.Command(theHost.bin, "slurm", "status", spool)
			status.Env = h.env
			out, _ := status.CombinedOutput()
			h.t.Logf("%s", out)
			for _, path := range matches(spool + "/logs/*") {
				h.t.Logf("%s: %s", path, readFile(h.t, path))
			}
		}
	})
}

// node sets a node "down", or lets it "resume".
func (c cluster) node(t *testing.T, name, state string) {
	t.Helper()
	f, err := os.OpenFile(c.Control, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := fmt.Fprintln(f, name, state); err != nil {
		t.Fatal(err)
	}
}

// standing is what status --json prints.
type standing struct {
	V        int  `json:"v"`
	Canceled bool `json:"canceled"`
	Arrays   []struct {
		Job   string `json:"job"`
		Tasks int    `json:"tasks"`
	} `json:"arrays"`
	Lines []struct {
		Line                                               int
		ID, Task, Stands, Slurm, Node, State, Reason, Late string
	} `json:"lines"`
	Totals map[string]int `json:"totals"`
}

func (h *harness) slurmStatus(spool string) (s standing) {
	h.t.Helper()
	out := h.mustRun("slurm", "status", "--json", spool).stdout
	if err := json.Unmarshal([]byte(out), &s); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	if err := validate("slurm.json", []byte(out)); err != nil {
		h.t.Error(err)
	}
	return s
}

// slurmLines writes a file of lines, each with an id from its name.
func (h *harness) slurmLines(all map[string]string, order []string) string {
	var text strings.Builder
	for _, name := range order {
		fmt.Fprintf(&text, `{"id":%q,%s}`+"\n", h.id(name), all[name])
	}
	return h.write("lines.jsonl", text.String(), 0o644)
}

const sleeps = `"cpus":8,"command":["sh","-c","echo begun >begun; exec sleep 200"]`

// TestSlurm runs an array with every kind of failure: each line has exactly one result in the end.
func TestSlurm(t *testing.T) {
	h, c := onSlurm(t)
	const n = 50
	lines := map[string]string{
		"canceled": sleeps, "killed": sleeps, // one fills a node; what follows waits
		"down":    `"cpus":8,"command":["sh","-c","echo begun >begun; sleep 201; true"]`,
		"fails":   `"command":["sh","-c","echo bad >why; exit 3"]`,
		"slow":    `"timeout":"1s","command":["sleep","60"]`,
		"hog":     `"memory":"64MiB","command":["python3","-c","x = bytearray(400 << 20)"]`,
		"never":   `"command":["true"]`,
		"missing": `"outputs":["none.csv"],"command":["true"]`,
	}
	order := []string{"canceled", "killed", "down", "fails", "slow", "hog", "never", "missing"}
	want := map[string]string{
		"canceled": "canceled stopped", "killed": "lost supervisor_lost", "down": "lost supervisor_lost", "fails": "failed exit",
		"slow": "failed timeout", "hog": "failed out_of_memory", "never": "canceled stopped", "missing": "failed output_missing",
	}
	if c.Held != "cgroup" {
		t.Log("no out-of-memory kill: no control group holds the jobs here")
		lines["hog"], want["hog"] = `"command":["true"]`, "complete exit"
	}
	for len(order) < n {
		name := fmt.Sprintf("good%d", len(order))
		lines[name] = fmt.Sprintf(`"command":["sh","-c","echo %s | tee out"]`, name)
		order, want[name] = append(order, name), "complete exit"
	}
	spool := h.path("it's a $spool")
	out := h.mustRun("slurm", "submit", "--spool", spool, h.slurmLines(lines, order))
	if strings.TrimSpace(out.stdout) != spool {
		t.Errorf("submit printed %q", out.stdout)
	}
	h.endJobs(spool)

	task, node := map[string]string{}, map[string]string{}
	until(t, hangTimeout, "three analyses run", func() bool {
		s := h.slurmStatus(spool)
		for _, line := range s.Lines {
			name := strings.TrimPrefix(line.ID, h.run+"-")
			task[name], node[name] = line.Task, line.Node
		}
		return s.Totals["running"] >= 3 && len(matches(h.path("tmp/scidex-analysis-*/work/begun"))) == 3
	})
	// Existing results are collected while the others run, and those are not reported.
	if out := h.do("slurm", "collect", spool); out.code != 0 || out.stdout != "" {
		t.Errorf("collect, with all under way: %d, %s%s", out.code, out.stdout, out.stderr)
	}
	h.slurm("scancel", task["never"])
	h.slurm("scancel", task["canceled"])
	launcher := launcherOf(t, h.id("killed"), h.path("tmp"))
	environ := readFile(t, fmt.Sprintf("/proc/%d/environ", launcher))
	if !strings.HasPrefix(environ, "PATH=") || strings.Count(environ, "\x00") != 1 {
		t.Errorf("scidex-oci has on its node the environment %q", environ)
	}
	send(t, launcher, syscall.SIGKILL)
	// The node with its job loses contact with Slurm; the job goes on, and delivers after Slurm has reported its end.
	c.node(t, node["down"], "kill")
	c.node(t, node["down"], "down")
	until(t, hangTimeout, "Slurm takes its job for failed", func() bool {
		return strings.TrimSpace(h.slurm("squeue", "--noheader", "--array", "--states=all", "--format=%T", "--jobs="+task["down"])) == "NODE_FAIL"
	})
	h.collectInterrupted(spool)
	sleep := processWhere(t, func(line []string) bool { return len(line) == 2 && line[0] == "sleep" && line[1] == "201" })
	send(t, sleep, syscall.SIGTERM)
	until(t, hangTimeout, "the node delivers late", func() bool { return len(matches(spool+"/results/3.late")) == 1 })
	c.node(t, node["down"], "start")
	c.node(t, node["down"], "resume")
	both := []*exec.Cmd{h.collecting(spool), h.collecting(spool)}
	for _, cmd := range both {
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, cmd := range both {
		_ = cmd.Wait() // its code is looked at
		if code := cmd.ProcessState.ExitCode(); code != 125 {
			t.Errorf("collect --wait ended with %d, want 125 for what is lost:\n%s", code, cmd.Stderr)
		}
	}
	for _, name := range order {
		r := h.show(h.id(name))
		if got := r.State + " " + r.Reason; got != want[name] || r.Attempt != 1 {
			t.Errorf("%s@%d: %s, want %s (%s)", name, r.Attempt, got, want[name], r.Message)
		}
		if strings.HasPrefix(name, "good") {
			if got := h.mustRun("outputs", "cat", r.ID, "out").stdout; got != name+"\n" {
				t.Errorf("%s has the output %q", name, got)
			}
		}
	}
	if got := strings.Count(h.mustRun("ls", "--json").stdout, "\n"); got != len(order) {
		t.Errorf("%d runs in the catalog, want %d", got, len(order))
	}
	h.mustRun("catalog", "check", "--digests")
	if s := h.slurmStatus(spool); s.Totals["collected"] != len(order) {
		t.Errorf("at the end: %v", s.Totals)
	}
	for _, e := range h.show(h.id("hog")).Enforced {
		if c.Held == "cgroup" && e.Limit == "memory" && (e.By != "outer" || e.Effective != fmt.Sprint((64+128)<<20)) {
			t.Errorf("memory of the hog: %+v, want that of its job", e)
		}
	}
	if again := h.do("slurm", "collect", spool); again.stdout != "" || again.code != 0 || !strings.Contains(again.stderr, "nothing new") {
		t.Errorf("collect of what is collected: %d, %s%s", again.code, again.stdout, again.stderr)
	}
	h.mustRun("gc") // removes the ingest directories of collects that were killed
	// Later tasks have removed what killed tasks have left, or this one does.
	h.write("last.jsonl", fmt.Sprintf(`{"id":%q,"command":["true"]}`, h.id("last")), 0o644)
	h.mustRun("slurm", "submit", "--spool", h.path("last"), "last.jsonl")
	h.mustRun("slurm", "collect", "--wait", "--poll=200ms", h.path("last"))
	if left := eventually(func() []string { return matches(h.path("tmp/*")) }); len(left) > 0 {
		t.Errorf("left on the nodes: %q", left)
	}
}

// launcherOf is the process of a task whose run has started: its root has the run's state file.
func launcherOf(t *testing.T, id, tmp string) int {
	t.Helper()
	return processWhere(t, func(line []string) bool {
		if len(line) != 7 || line[1] != "slurm" || line[2] != "task" {
			return false
		}
		return len(matches(filepath.Join(tmp, fmt.Sprintf("scidex-oci-slurm-*-%s-%s/runs/%s@1.json", line[5], line[6], id)))) == 1
	})
}

// processWhere is the one process whose command line is it.
func processWhere(t *testing.T, is func(line []string) bool) (pid int) {
	t.Helper()
	for _, path := range matches("/proc/[0-9]*/cmdline") {
		words, _ := os.ReadFile(path) // it may have ended
		if !is(strings.Split(strings.TrimRight(string(words), "\x00"), "\x00")) {
			continue
		}
		if _, err := fmt.Sscanf(path, "/proc/%d/", &pid); err != nil {
			t.Fatal(err)
		}
		return pid
	}
	t.Fatal("there is no such process")
	return 0
}

func send(t *testing.T, pid int, signal syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, signal); err != nil {
		t.Fatal(err)
	}
}

// collecting is a collect that waits.
func (h *harness) collecting(spool string) *exec.Cmd {
	cmd := h.command(theHost.bin, "slurm", "collect", "--wait", "--poll=200ms", spool)
	cmd.Stderr = &strings.Builder{}
	return cmd
}

// collectInterrupted kills collects until a few lines are collected, each as soon as it has committed another one.
func (h *harness) collectInterrupted(spool string) {
	h.t.Helper()
	for range 3 {
		before := len(matches(spool + "/collected/*"))
		cmd := h.collecting(spool)
		if err := cmd.Start(); err != nil {
			h.t.Fatal(err)
		}
		until(h.t, hangTimeout, "it collects", func() bool { return len(matches(spool+"/collected/*")) > before })
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// TestSlurmCancel cancels a submission with the command: running tasks are harvested, waiting ones never begin.
func TestSlurmCancel(t *testing.T) {
	h, _ := onSlurm(t)
	lines, order := map[string]string{}, []string{}
	for i := range 5 {
		name := fmt.Sprintf("s%d", i)
		lines[name], order = sleeps, append(order, name)
	}
	spool := h.path("spool")
	h.mustRun("slurm", "submit", "--json", "--spool", spool, h.slurmLines(lines, order))
	h.endJobs(spool)
	until(t, hangTimeout, "three analyses run", func() bool { return len(matches(h.path("tmp/scidex-analysis-*/work/begun"))) == 3 })
	h.mustRun("slurm", "cancel", spool)
	if out := h.do("slurm", "collect", "--wait", "--poll=200ms", spool); out.code != 1 {
		t.Errorf("collect ended with %d, want 1 for what was canceled: %s", out.code, out.stderr)
	}
	begun := 0
	for _, name := range order {
		r := h.show(h.id(name))
		if r.State != "canceled" || r.Reason != "stopped" {
			t.Errorf("%s: %s, %s (%s)", name, r.State, r.Reason, r.Message)
		}
		begun += len(r.Outputs)
	}
	if begun != 3 {
		t.Errorf("%d outputs of what ran were harvested, want 3", begun)
	}
}

// TestSlurmUnavailable: if Slurm does not answer, that is one sentence, and nothing is submitted or left.
func TestSlurmUnavailable(t *testing.T) {
	h, c := onSlurm(t)
	h.write("lines.jsonl", `{"command":["true"]}`, 0o644)
	conf := strings.ReplaceAll(readFile(t, c.Conf), "SlurmUser=root", "SlurmUser=root\nSlurmctldPort=6999\nMessageTimeout=2")
	h.setenv("SLURM_CONF", h.write("slurm.conf", conf, 0o644))
	began := time.Now()
	h.mustRefuse([]string{"slurm", "submit", "--spool", "spool", "lines.jsonl"}, "sbatch", "nothing was submitted")
	t.Logf("after %v", time.Since(began))
	if left := matches(h.path("spool*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	h.setenv("SLURM_CONF", c.Conf)
	h.mustRefuse([]string{"slurm", "submit", "--spool", "spool", "--partition", "nowhere", "lines.jsonl"}, "invalid partition", "nothing was submitted")
	if left := matches(h.path("spool*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestSlurmRefused refuses, without any Slurm, in one sentence, and makes nothing.
func TestSlurmRefused(t *testing.T) {
	h := newHarness(t)
	h.write("lines.jsonl", `{"command":["true"]}`, 0o644)
	submit := []string{"slurm", "submit", "--spool", "spool", "lines.jsonl"}
	h.setenv("PATH", filepath.Dir(theHost.bin))
	h.mustRefuse(submit, "sbatch was not found in PATH; call this where Slurm's commands are")
	tools := h.path("tools") // they are found, and never called
	for _, name := range []string{"sbatch", "squeue", "scancel", "scontrol"} {
		h.write("tools/"+name, "#!/bin/sh\nexit 99\n", 0o755)
	}
	h.setenv("PATH", tools+":"+os.Getenv("PATH"))
	h.mustRefuse([]string{"slurm", "submit", "--spool", "a\nb", "lines.jsonl"}, `path "`, "control characters")
	h.mustRefuse([]string{"slurm", "submit", "--spool", "no/spool", "lines.jsonl"}, "no/spool: no such file or directory", "nothing was submitted")
	if err := os.Mkdir(h.path("spool"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse(submit, `spool "`+h.path("spool")+`" exists already; name a new directory for each submission`)
	if os.Geteuid() != 0 {
		if err := os.Chmod(h.path("spool"), 0o555); err != nil {
			t.Fatal(err)
		}
		h.mustRefuse([]string{"slurm", "submit", "--spool", "spool/below", "lines.jsonl"}, "permission denied", "nothing was submitted")
	}
	h.write("used.jsonl", fmt.Sprintf(`{"id":%q,"command":["true"]}`, h.id("used")), 0o644)
	h.start("--id", h.id("used"), "true")
	h.mustRefuse([]string{"slurm", "submit", "--spool", "new", "used.jsonl"}, "used.jsonl:1: id "+h.id("used")+" was used before", "nothing was submitted")
	h.write("gone.jsonl", `{"data":"/no/such/data","command":["true"]}`, 0o644)
	h.mustRefuse([]string{"slurm", "submit", "--spool", "new", "gone.jsonl"}, `gone.jsonl:1: --data "/no/such/data": does not exist`, "nothing was submitted")
	if left := matches(h.path("new*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// TestSlurmTimeLimit lowers the time limit of a job that runs: Slurm's signal before it comes at once, and the run ends with its
// harvest.
func TestSlurmTimeLimit(t *testing.T) {
	h, _ := onSlurm(t)
	spool := h.path("spool")
	h.mustRun("slurm", "submit", "--spool", spool, h.slurmLines(map[string]string{"long": sleeps}, []string{"long"}))
	h.endJobs(spool)
	until(t, hangTimeout, "it runs", func() bool { return len(matches(h.path("tmp/scidex-analysis-*/work/begun"))) == 1 })
	h.slurm("scontrol", "update", "jobid="+h.slurmStatus(spool).Lines[0].Task, "timelimit=1")
	h.do("slurm", "collect", "--wait", "--poll=200ms", spool)
	r := h.show(h.id("long"))
	if r.State != "canceled" || r.Reason != "stopped" || len(r.Outputs) != 1 {
		t.Errorf("%s, %s with %d outputs (%s)", r.State, r.Reason, len(r.Outputs), r.Message)
	}
}
