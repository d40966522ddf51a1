package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hosted is a scidex-oci worker with its own root and directory of working directories, as on a host of its own.
type hosted struct {
	*harness
	cmd   *exec.Cmd
	out   string // file of its results
	log   string
	tmp   string
	ended chan struct{}
}

// worker starts one. Anything that it has left at the end of the test is an error.
func (h *harness) worker(args ...string) *hosted {
	h.t.Helper()
	own := newHarness(h.t)
	own.run, own.program = h.run, h.program // the ids are those of who submits
	tmp := own.path("tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		h.t.Fatal(err)
	}
	for _, setting := range h.env {
		if name, _, _ := strings.Cut(setting, "="); name == "SCIDEX_OCI_DB" || name == "SCIDEX_OCI_BLOBS" || strings.HasPrefix(name, "AWS_") || strings.HasPrefix(name, "OTEL_") {
			own.env = append(own.env, setting) // all hosts have one catalog, and may have one bucket
		}
	}
	own.setenv("SCIDEX_OCI_TMP", tmp)
	return own.worksOn(tmp, args...)
}

// again starts a worker on the host and root of one that has ended.
func (w *hosted) again(args ...string) *hosted { return w.worksOn(w.tmp, args...) }

func (h *harness) worksOn(tmp string, args ...string) *hosted {
	h.t.Helper()
	n := len(matches(h.path("log*")))
	w := &hosted{harness: h, out: h.path(fmt.Sprint("results", n)), log: h.path(fmt.Sprint("log", n)), tmp: tmp, ended: make(chan struct{})}
	w.cmd = exec.Command(h.program, append([]string{"worker", "--log-level", "info"}, args...)...) // it may work for longer than a command
	w.cmd.Dir, w.cmd.Env = h.dir, h.env
	stdout, err := os.Create(w.out)
	if err != nil {
		h.t.Fatal(err)
	}
	stderr, err := os.Create(w.log)
	if err != nil {
		h.t.Fatal(err)
	}
	w.cmd.Stdout, w.cmd.Stderr = stdout, stderr
	if err := w.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	go func() {
		_ = w.cmd.Wait() // end looks at its code
		close(w.ended)
	}()
	h.t.Cleanup(func() {
		w.signal(syscall.SIGKILL)
		<-w.ended
		if left := matches(filepath.Join(tmp, "*")); len(left) > 0 {
			h.t.Errorf("left behind: %q", left)
		}
		if h.t.Failed() {
			h.t.Logf("worker %d said:\n%s", w.cmd.Process.Pid, readFile(h.t, w.log))
		}
	})
	return w
}

func (w *hosted) signal(s syscall.Signal) { _ = w.cmd.Process.Signal(s) } // it may have ended

// end drains a worker, which must succeed and have printed results.
func (w *hosted) end() {
	w.t.Helper()
	w.signal(syscall.SIGTERM)
	w.drained()
}

// drained waits until a worker that was stopped has ended well.
func (w *hosted) drained() {
	w.t.Helper()
	defer func() {
		for line := range strings.Lines(readFile(w.t, w.out)) {
			if err := validate("result.json", []byte(line)); err != nil {
				w.t.Errorf("a line of the worker: %v: %s", err, line)
			}
		}
	}()
	<-w.ended
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		w.t.Errorf("the worker ended with %d:\n%s", code, readFile(w.t, w.log))
	}
}

// killed is SIGKILL for a worker.
func (w *hosted) killed() {
	w.signal(syscall.SIGKILL)
	<-w.ended
}

// results are those that it has printed.
func (w *hosted) results() int { return strings.Count(readFile(w.t, w.out), "\n") }

// queued is a line of `queue show --json`.
type queued struct {
	ID       string   `json:"id"`
	Class    string   `json:"class"`
	Why      string   `json:"why"`
	Attempt  int      `json:"attempt"`
	State    string   `json:"state"`
	RunState string   `json:"run_state"`
	Worker   string   `json:"worker"`
	Tries    int      `json:"tries"`
	Errors   []string `json:"errors"`
}

func (h *harness) queued(id string) (q queued) {
	h.t.Helper()
	out := h.mustRun("queue", "show", "--json", id).stdout
	if err := decode("queue.json", []byte(out), &q); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return q
}

// inQueue are the lines of `queue ls --json`.
func (h *harness) inQueue(args ...string) (all []queued) {
	h.t.Helper()
	for line := range strings.Lines(h.mustRun(append([]string{"queue", "ls", "--json"}, args...)...).stdout) {
		var q queued
		if err := decode("queue.json", []byte(line), &q); err != nil {
			h.t.Fatalf("%v: %s", err, line)
		}
		all = append(all, q)
	}
	return all
}

// comes waits until the last attempt of an analysis is in a state.
func (h *harness) comes(db database, id, state string) {
	h.t.Helper()
	within := hangTimeout
	sql := fmt.Sprintf("SELECT attempt || ' ' || state FROM scidex_oci.runs_v1 WHERE id = '%s' AND latest", id)
	for deadline := time.Now().Add(within); ; time.Sleep(50 * time.Millisecond) {
		last := db.query(h.t, "", sql)
		if strings.HasSuffix(last, " "+state) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%s is %q and not %s after %v", id, last, state, within)
		}
	}
}

// attempts are the states of all attempts of an analysis.
func (h *harness) attempts(db database, id string) string {
	h.t.Helper()
	return db.query(h.t, "", fmt.Sprintf("SELECT string_agg(state, ' ' ORDER BY attempt) FROM scidex_oci.runs_v1 WHERE id = '%s'", id))
}

// jobs are the jobs of an analysis in River's own table.
func jobs(t *testing.T, db database, id string) string {
	t.Helper()
	return db.query(t, "", fmt.Sprintf("SELECT string_agg(state::text, ' ') FROM scidex_oci.river_job WHERE args ->> 'id' = '%s'", id))
}

// inQueue is a harness whose catalog has a queue.
func inQueue(t *testing.T) (*harness, database) {
	t.Helper()
	h, db := inPostgres(t)
	h.mustRun("catalog", "migrate")
	return h, db
}

// submit puts a script of the shell into the queue.
func (h *harness) submit(name, script string, args ...string) (id string) {
	h.t.Helper()
	id = h.id(name)
	if out := h.mustRun(append(append([]string{"submit", "--id", id}, args...), "--", "sh", "-c", script)...).stdout; out != id+"\n" {
		h.t.Errorf("submit says %q, want %q", out, id)
	}
	return id
}

// A submitted analysis has a row at once, a worker runs it as run does, and its job ends with it.
func TestQueue(t *testing.T) {
	h, db := inQueue(t)
	h.mustRefuse([]string{"--db", "sqlite://" + h.path("c.db"), "submit", "--", "true"}, "PostgreSQL", "--db postgres://")
	h.mustRefuse([]string{"submit", "--memory", "none", "--", "true"}, "--memory")
	h.mustRefuse([]string{"submit", "--script", "missing.py"}, "missing.py", "does not exist")
	h.mustRefuse([]string{"submit", "--export", "out", "--", "true"}, "--export", "outputs export")
	h.mustRefuse([]string{"submit", "--post-process", "true", "--", "true"}, "--post-process")
	if out := h.mustRun("queue", "ls").stdout; strings.Count(out, "\n") != 1 {
		t.Errorf("what was refused is in the queue:\n%s", out)
	}

	good := h.submit("good", "echo hi >out; echo said", "--label", "k=v", "--secret", "NOT_SET_HERE_BUT_THERE", "--retries", "20")
	plain := h.submit("plain", "echo hi >out; echo said", "--label", "k=v")
	bad := h.submit("bad", "exit 3")
	if got := h.attempts(db, plain); got != "queued" {
		t.Errorf("what was submitted is %q", got)
	}
	h.mustRefuse([]string{"run", "--id", plain, "--", "true"}, "waits in the queue")
	h.mustRefuse([]string{"submit", "--id", plain, "--", "true"}, "waits in the queue")
	h.mustRefuse([]string{"stop", plain}, "waits in the queue")
	h.mustRun("gc") // a row in the queue is nobody's
	lost := h.submit("lost", "test -e /data/there && cp /data/there got", "--data", filepath.Dir(h.write("data/there", "x", 0o644)), "--retries", "20")
	away := h.path("away")
	if err := os.Rename(h.path("data"), away); err != nil {
		t.Fatal(err)
	}

	w := h.worker("--jobs", "2")
	h.comes(db, plain, "complete")
	h.comes(db, bad, "failed")
	r := w.show(plain)
	r.expect(t, "complete", "exit", 0)
	if r.OutputsTotal != 1 || w.mustRun("logs", plain).stdout != "said\n" || w.mustRun("outputs", "cat", plain, "out").stdout != "hi\n" {
		t.Errorf("its outputs are not there: %+v", r.Outputs)
	}
	h.show(bad).expect(t, "failed", "exit", 3)
	for _, id := range []string{plain, bad} {
		if got := jobs(t, db, id); got != "completed" {
			t.Errorf("the job of %s is %q", id, got)
		}
	}
	if got := h.attempts(db, bad); got != "failed" {
		t.Errorf("what has failed has the attempts %q", got)
	}

	// Only an error is retried, and the analysis ends well once the cause is gone.
	until(t, hangTimeout, "a refused analysis is to come again", func() bool { return len(h.queued(lost).Errors) > 0 })
	if err := os.Rename(away, h.path("data")); err != nil {
		t.Fatal(err)
	}
	h.comes(db, lost, "complete")
	if got := h.attempts(db, lost); !strings.HasPrefix(got, "error ") {
		t.Errorf("attempts %q, want an error first", got)
	}
	for _, q := range h.inQueue("--all") {
		if q.ID == plain && (q.State != "ended" || q.RunState != "complete" || q.Class != "default") {
			t.Errorf("queue ls has %+v", q)
		}
	}
	if q := h.queued(good); q.RunState == "complete" {
		t.Errorf("without its secret it is %+v", q)
	}
	h.mustRun("queue", "cancel", good)
	h.comes(db, good, "canceled")
	w.end()
	w.mustRun("catalog", "check", "--digests")
}

// A canceled job ends in any state; a job that runs during a drain ends, or is returned.
func TestQueueCancelAndDrain(t *testing.T) {
	h, db := inQueue(t)
	waits := h.submit("waits", "true")
	h.mustRun("queue", "cancel", waits)
	if got := jobs(t, db, waits) + " " + h.attempts(db, waits); got != "cancelled canceled" {
		t.Errorf("job and run are %q", got)
	}
	h.mustRefuse([]string{"queue", "cancel", waits}, "ended already")
	h.mustRefuse([]string{"queue", "cancel", h.id("never")}, "no run")

	runs := h.submit("runs", "echo started; sleep 1000")
	w := h.worker("--jobs", "2", "--drain", "3s")
	h.comes(db, runs, "running")
	until(t, hangTimeout, "it has started", func() bool { return w.do("logs", runs).stdout == "started\n" })
	h.mustRun("queue", "cancel", runs)
	h.comes(db, runs, "canceled")
	if got := jobs(t, db, runs) + " " + h.attempts(db, runs); got != "completed canceled" {
		t.Errorf("job and run are %q", got)
	}

	gate := h.path("gate")
	if err := os.WriteFile(gate, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	ends := h.submit("ends", "until [ -s /inputs/gate ]; do sleep 0.05; done; echo x >x", "--input", gate)
	stays := h.submit("stays", "echo x >x; sleep 1000")
	h.comes(db, ends, "running")
	h.comes(db, stays, "running")
	w.signal(syscall.SIGTERM)
	if err := os.WriteFile(gate, []byte("open"), 0o644); err != nil {
		t.Fatal(err)
	}
	w.drained()
	h.show(ends).expect(t, "complete", "exit", 0)
	h.show(stays+"@1").expect(t, "canceled", "stopped", 143)
	if q := h.queued(stays); q.State != "waiting" || q.RunState != "queued" || q.Attempt != 2 || q.Tries != 0 || len(q.Errors) != 0 {
		t.Errorf("what was handed back is %+v", q)
	}
	again := h.worker("--drain", "0")
	h.comes(db, stays, "running")
	again.end()
	h.show(stays+"@2").expect(t, "canceled", "stopped", 143)
	h.mustRun("queue", "cancel", stays)
	if out := h.mustRun("queue", "retry", stays, runs).stdout; out != stays+"  queued as attempt 4\n"+runs+"  queued as attempt 2\n" {
		t.Errorf("retry says %q", out)
	}
	h.mustRefuse([]string{"queue", "retry", stays}, "is in the queue")
	h.mustRefuse([]string{"queue", "retry", ends}, "never repeated")
	h.mustRun("queue", "cancel", stays, runs)
}

// TestQueueStop stops single runs of a worker, with and without a grace period, and two by one command: they are canceled and
// not run again, and the worker goes on with its other run and takes jobs.
func TestQueueStop(t *testing.T) {
	h, db := inQueue(t)
	f := h.flag()
	goesOn := h.submit("goes-on", awaited+"; echo x >x", "--input", f.input())
	w := h.worker("--jobs", "3", "--total-cpus", "3", "--drain", "0")
	h.comes(db, goesOn, "running")
	ended := func(args []string, stopped ...string) {
		t.Helper()
		out := w.mustRun(append(append([]string{"stop"}, args...), stopped...)...).stdout
		for _, id := range stopped {
			if !strings.Contains(out, id+"@1  canceled (143): stopped by scidex-oci stop\n") {
				t.Errorf("stop says %q", out)
			}
			h.show(id).expect(t, "canceled", "stopped", 143)
			if got := jobs(t, db, id) + " " + h.attempts(db, id); got != "completed canceled" {
				t.Errorf("job and run are %q", got)
			}
		}
	}

	gentle := h.submit("gentle", "trap 'echo x >after; exit 0' TERM; echo ready; while :; do sleep 0.05; done", "--grace", "10m")
	w.logged(gentle, "ready")
	ended(nil, gentle)
	if h.show(gentle).output("after").SHA256 == "" {
		t.Error("it had no grace period")
	}

	now := h.submit("now", deaf, "--grace", "10m")
	w.logged(now, "ready")
	ended(flags("--now"), now)

	one, two := h.submit("one", "echo ready; sleep 1000"), h.submit("two", "echo ready; sleep 1000")
	w.logged(one, "ready")
	w.logged(two, "ready")
	ended(nil, one, two)

	next := h.submit("next", "true")
	h.comes(db, next, "complete")

	// A drain does not return a run in its grace period.
	late := h.submit("late", deaf, "--grace", "10m")
	w.logged(late, "ready")
	stop := w.begin("stop", late)
	w.logged(late, "heard")
	if got := h.attempts(db, goesOn); got != "running" {
		t.Errorf("the other run is %q", got)
	}
	f.raise()
	h.comes(db, goesOn, "complete")
	w.end()
	if out := stop.end(); out.code != 0 {
		t.Errorf("stop: %+v", out)
	}
	h.show(late).expect(t, "canceled", "stopped", 143)
	if got := jobs(t, db, late) + " " + h.attempts(db, late); got != "completed canceled" {
		t.Errorf("job and run are %q", got)
	}
}

// A job goes to a worker of its class that has the labels and the images that it needs; until then the queue says why
// it waits. The same analysis is submitted once.
func TestQueueClasses(t *testing.T) {
	h, db := inQueue(t)
	w := h.worker("--class", "gpu", "--class", "default", "--labels", "gpu=a100")
	fits := h.submit("fits", "echo $0", "--class", "gpu", "--require", "gpu=a100")
	h.comes(db, fits, "complete")
	for name, want := range map[string]string{
		"label": "label gpu=h100", "image": "image nowhere", "class": `no worker of class "large"`, "size": "room for 9TiB",
	} {
		id := h.submit(name, "true", map[string][]string{
			"label": flags("--require", "gpu=h100"), "image": flags("--rootfs", "nowhere"), "class": flags("--class", "large"),
			"size": flags("--memory", "9TiB", "--limits", "best-effort"),
		}[name]...)
		until(t, hangTimeout, "the queue says why it waits", func() bool {
			q := h.queued(id)
			if q.State == "waiting" && (q.Tries != 0 || len(q.Errors) != 0) {
				t.Errorf("%s: %+v", name, q)
			}
			return q.State == "waiting" && strings.Contains(q.Why, want)
		})
	}
	until(t, hangTimeout, "queue ls says why, too", func() bool { // while a worker looks at one, it is running
		out := h.mustRun("queue", "ls").stdout
		return strings.Contains(out, "no worker with label gpu=h100 has taken it yet") && strings.Contains(out, "large")
	})
	first := h.submit("first", "sleep 1000", "--at", "+1h", "--priority", "4")
	second := h.do("submit", "--json", "--unique", "--id", h.id("second"), "--", "sh", "-c", "sleep 1000")
	if err := validate("submit.json", []byte(second.stdout)); err != nil || !strings.Contains(second.stdout, fmt.Sprintf(`"id":%q`, first)) || !strings.Contains(second.stderr, "already") {
		t.Errorf("what is there already is submitted with %+v: %v", second, err)
	}
	for _, bad := range [][]string{{"--class", "GPU"}, {"--priority", "5"}, {"--at", "2h"}, {"--require", "gpu"}} {
		out := h.do(append(append([]string{"submit", "--json"}, bad...), "--", "true")...)
		if err := validate("submit.json", []byte(out.stdout)); out.code != 125 || err != nil || !strings.Contains(out.stderr, bad[0]) {
			t.Errorf("%q: %d, %v, %s", bad, out.code, err, out.stderr)
		}
	}
	h.mustRun("queue", "pause")
	waits := h.submit("waits", "true")
	if out := h.mustRun("queue", "ls"); !strings.Contains(out.stderr, "paused since") {
		t.Errorf("while it is paused, queue ls says %+v", out)
	}
	until(t, hangTimeout, "it waits for the end of the pause", func() bool { return h.queued(waits).Why == "the queue is paused" })
	h.mustRun("queue", "resume")
	h.comes(db, waits, "complete")
	w.end()
}

// Two workers run 40 analyses, each once, though each has room for only two at a time. All lines of a batch are submitted or none.
func TestQueueTwoWorkers(t *testing.T) {
	h, db := inQueue(t)
	const n = 40
	var all []manifest
	for i := range n {
		all = append(all, manifest{
			"id": h.id(strconv.Itoa(i)), "command": flags("sh", "-c", "echo $0 >out", strconv.Itoa(i)),
			"data": "none", "docs": "none", "memory": "64MiB", "cpus": 0.5,
		})
	}
	file := h.lines(all...)
	if err := os.WriteFile(file+".bad", []byte(readFile(t, file)+`{"command":["true"],"pids":"many"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := h.do("submit", "--batch", file+".bad"); out.code != 125 || !strings.Contains(out.stderr, "nothing was enqueued") {
		t.Errorf("a batch with a bad line: %d, %s", out.code, out.stderr)
	}
	out := h.mustRun("submit", "--json", "--batch", file).stdout
	if strings.Count(out, `"state":"queued"`) != n {
		t.Errorf("submit says\n%s", out)
	}
	for line := range strings.Lines(out) {
		if err := validate("submit.json", []byte(line)); err != nil {
			t.Error(err)
		}
	}
	workers := []*hosted{h.worker("--jobs", "3", "--total-cpus", "1"), h.worker("--jobs", "3", "--total-memory", "128MiB")}
	until(t, hangTimeout, "all of them are done", func() bool {
		return db.query(t, "", "SELECT count(*) FROM scidex_oci.river_job WHERE state <> 'completed'") == "0"
	})
	if got := db.query(t, "", "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(outputs_total) || ' ' || max(attempt) || ' ' || max(state) || ' ' || min(state) FROM scidex_oci.runs_v1"); got != "40 40 40 1 complete complete" {
		t.Errorf("the catalog has %q", got)
	}
	total := 0
	for i, w := range workers {
		w.end()
		if w.results() == 0 {
			t.Errorf("worker %d got nothing", i)
		}
		total += w.results()
	}
	if total != n {
		t.Errorf("%d results, want %d", total, n)
	}
}

// A killed worker, and a silent one, lose their analyses to another. Each ends once; the worker that comes back too
// late leaves nothing, and does not disturb the other.
func TestQueueRescue(t *testing.T) {
	h, db := inQueue(t)
	turn, ends := h.write("turn", "1", 0o644), []flag{h.flag(), h.flag()}
	inputs := flags("--timeout", "10m", "--grace", "1s", "--input", turn+":/inputs/turn",
		"--input", ends[0].path+":/inputs/end1", "--input", ends[1].path+":/inputs/end2")
	// An attempt ends with the flag of the turn in which it has started.
	waits := `n=$(cat /inputs/turn); exec sh -c "until [ -s /inputs/end$n ]; do sleep 0.05; done; echo \$SCIDEX_ANALYSIS_ID >out" $SCIDEX_ANALYSIS_ID-waits`
	dies, silent := h.submit("dies", "echo begun >begun; "+waits, inputs...), h.submit("silent", waits, inputs...)
	flags := flags("--jobs", "1", "--rescue-after", "10s", "--total-memory", "4GiB")
	first, other := h.worker(flags...), h.worker(flags...)
	for _, id := range []string{dies, silent} {
		h.comes(db, id, "running")
		until(t, hangTimeout, "it waits for its end", func() bool { return len(with(id+"-waits")) > 0 })
	}
	if strings.Contains(h.queued(dies).Worker, fmt.Sprintf("/%d/", other.cmd.Process.Pid)) {
		first, other = other, first // first has the one that dies
	}
	other.signal(syscall.SIGSTOP)
	first.killed()
	h.write("turn", "2", 0o644)
	// For River both have run for a day. It elects another leader when the lease of the last is over, and that one
	// looks for stuck jobs at once: the test waits for neither.
	db.query(t, "", "UPDATE scidex_oci.river_job SET attempted_at = attempted_at - interval '1 day' WHERE state = 'running'; DELETE FROM scidex_oci.river_leader")
	rescuer := h.worker(append(flags, "--jobs", "2")...)
	for _, id := range []string{dies, silent} {
		until(t, hangTimeout, "another worker has it", func() bool { return h.attempts(db, id) == "lost running" })
	}
	ends[0].raise()
	other.signal(syscall.SIGCONT) // while the rescuer's runs go on
	until(t, hangTimeout, "it knows that it is too late", func() bool { return strings.Contains(readFile(t, other.log), "another worker has the analysis") })
	if got := jobs(t, db, silent) + " " + h.attempts(db, silent); got != "running lost running" {
		t.Errorf("the one that came too late has made of job and run %q", got)
	}
	ends[1].raise()
	for _, id := range []string{dies, silent} {
		h.comes(db, id, "complete")
		until(t, hangTimeout, "the job is through", func() bool { return jobs(t, db, id) == "completed" })
		if got := h.attempts(db, id); got != "lost complete" {
			t.Errorf("%s has the attempts %q", id, got)
		}
		if got := rescuer.mustRun("outputs", "cat", id, "out").stdout; got != id+"\n" {
			t.Errorf("its output is %q", got)
		}
	}
	rescuer.end()
	other.end()
	if left := matches(filepath.Join(other.root, "outcomes", "*")); len(left) > 0 {
		t.Errorf("the one that came too late has kept %q", left)
	}
	first.mustRun("gc") // on the host of the killed one
	if n := db.query(t, "", "SELECT count(*) FROM scidex_oci.analysis_output"); n != "3" {
		t.Errorf("%s outputs in the catalog, want 3", n)
	}
}

// If `queue rescue` gives the job of a living worker to another on the same host, which would use the same directory,
// the job waits there while the first attempt goes on, and is done once, by that attempt.
func TestQueueRescueOnTheSameHost(t *testing.T) {
	h, db := inQueue(t)
	end := h.flag()
	id := h.submit("slow", "echo begun >begun; "+awaited+"; echo $SCIDEX_ANALYSIS_ID >out", "--input", end.input())
	flags := flags("--jobs", "1", "--total-memory", "4GiB")
	first := h.worker(flags...)
	h.comes(db, id, "running")
	beside := h.in(t)
	beside.env = slices.Clone(first.env)
	beside.setenv("SCIDEX_OCI_ROOT", beside.path("another-root"))
	second := beside.worksOn(first.tmp, flags...)
	until(t, hangTimeout, "it works", func() bool { return strings.Contains(readFile(t, second.log), "River client started") })
	h.mustRun("queue", "rescue", h.queued(id).Worker)
	until(t, hangTimeout, "it has asked for the directory", func() bool {
		return db.query(t, "", "SELECT coalesce(max((metadata ->> 'snoozes')::int), 0) > 0 FROM scidex_oci.river_job") == "t"
	})
	if got := h.attempts(db, id); got != "running" {
		t.Errorf("the attempts are %q while the first goes on", got)
	}
	end.raise()
	h.comes(db, id, "complete")
	until(t, hangTimeout, "the job is through", func() bool { return jobs(t, db, id) == "completed" })
	first.end()
	second.end()
	if got := h.attempts(db, id); got != "complete" {
		t.Errorf("the attempts are %q", got)
	}
	if got := first.mustRun("outputs", "cat", id, "out").stdout; got != id+"\n" {
		t.Errorf("its output is %q", got)
	}
	if n := db.query(t, "", "SELECT count(*) FROM scidex_oci.analysis_output"); n != "2" {
		t.Errorf("%s outputs in the catalog, want 2", n)
	}
}

// A worker that is killed and started again on the same host and root puts its jobs back into the queue at once, though
// they may run for half an hour. A job that was canceled in between is not started again.
func TestQueueRestart(t *testing.T) {
	h, db := inQueue(t)
	end := h.flag()
	dies := h.submit("dies", "echo begun >begun; "+awaited+"; echo out >out", "--input", end.input())
	canceled := h.submit("canceled", "sleep 1000")
	w := h.worker("--jobs", "2", "--total-memory", "4GiB", "--total-cpus", "2")
	h.comes(db, dies, "running")
	h.comes(db, canceled, "running")
	w.killed()
	h.mustRun("queue", "cancel", canceled)
	h.mustRefuse([]string{"queue", "rescue", "nobody/1/x"}, "nobody/1/x")
	started := time.Now()
	again := w.again("--jobs", "2", "--total-memory", "4GiB", "--total-cpus", "2")
	until(t, hangTimeout, "its analysis is started again", func() bool { return h.attempts(db, dies) == "lost running" })
	t.Logf("started again %v after the start of the worker", time.Since(started))
	until(t, hangTimeout, "what was canceled is through", func() bool { return jobs(t, db, canceled) == "completed" })
	if got := h.attempts(db, canceled); got != "lost" {
		t.Errorf("what was canceled has the attempts %q", got)
	}
	end.raise()
	h.comes(db, dies, "complete")
	if r := again.show(dies); r.OutputsTotal != 2 {
		t.Errorf("its outputs are %+v", r.Outputs)
	}

	gone := h.submit("gone", "test $SCIDEX_ANALYSIS_ID; sleep 1000")
	h.comes(db, gone, "running")
	again.killed()
	other := h.worker() // on another host, whose operator knows
	if out := h.mustRun("queue", "rescue", h.queued(gone).Worker).stdout; !strings.Contains(out, "1 job in the queue again") {
		t.Errorf("queue rescue says %q", out)
	}
	until(t, hangTimeout, "another host has it", func() bool { return h.attempts(db, gone) == "lost running" })
	h.mustRun("queue", "cancel", gone)
	h.comes(db, gone, "canceled")
	other.end()
	last := again.again()
	until(t, hangTimeout, "it works", func() bool {
		all := matches(filepath.Join(last.root, "workers", "*"))
		return len(all) == 1 && strings.Contains(all[0], fmt.Sprintf("%%2F%d%%2F", last.cmd.Process.Pid))
	})
	last.end()
	if left := matches(filepath.Join(last.root, "workers", "*")); len(left) > 0 {
		t.Errorf("workers that are there no more: %q", left)
	}
}
