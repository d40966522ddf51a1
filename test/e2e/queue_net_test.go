package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// apart are n analyses of which each leaves one output with its number, after a while of d.
func (n *network) apart(count int, d string) {
	n.t.Helper()
	var all []manifest
	for i := range count {
		all = append(all, manifest{
			"id": n.id(strconv.Itoa(i)), "command": flags("sh", "-c", "sleep "+d+"; echo $0 >out", strconv.Itoa(i)),
			"data": "none", "docs": "none", "memory": "64MiB",
		})
	}
	if out := n.mustRun("submit", "--json", "--batch", n.lines(all...)).stdout; strings.Count(out, `"state":"queued"`) != count {
		n.t.Fatalf("submit says\n%s", out)
	}
}

// waiting is how many jobs have not ended.
func (n *network) waiting() string {
	n.t.Helper()
	return n.server.query("SELECT count(*) FROM scidex_oci.river_job WHERE state <> 'completed'")
}

// doneOnce checks that all analyses are complete, each once, with its one output, and that no machine has kept anything.
func (n *network) doneOnce(count int, machines ...*machine) {
	n.t.Helper()
	if got, want := n.server.query(`SELECT count(*) FILTER (WHERE state = 'complete') || ' ' || count(DISTINCT id) || ' ' || coalesce(sum(outputs_total), 0) ||
		' ' || count(*) FILTER (WHERE state IN ('running', 'queued', 'failed')) FROM scidex_oci.runs_v1`), fmt.Sprintf("%d %[1]d %[1]d 0", count); got != want {
		n.t.Errorf("complete, analyses, outputs, open or failed: %s; want %s", got, want)
	}
	if got := n.server.query("SELECT count(*) FROM scidex_oci.analysis_output"); got != strconv.Itoa(count) {
		n.t.Errorf("%s outputs in the catalog, want %d", got, count)
	}
	n.nothingLeft(machines...)
}

// nothingLeft checks that no machine has kept anything of a run.
func (n *network) nothingLeft(machines ...*machine) {
	n.t.Helper()
	for _, m := range machines {
		for _, pattern := range []string{filepath.Join(m.tmp, "*"), filepath.Join(m.root, "runs", "*"), filepath.Join(m.root, "outcomes", "*"), filepath.Join(m.root, "blobs", "ingest", "*"), filepath.Join(m.root, "staging", "*", "ingest", "*")} {
			if left := eventually(func() []string { return matches(pattern) }); len(left) > 0 {
				n.t.Errorf("left on %s: %q", m.host, left)
			}
		}
	}
}

// Three machines run many analyses, evenly, each once.
func TestQueueMachines(t *testing.T) {
	n := newNetwork(t)
	count := soakCount(1000)
	machines := []*machine{n.machine(), n.machine(), n.machine()}
	words := append(inSpace(n.space("db")), "../../scripts/s3", serverAddress)
	shared, _ := bareBucket(t, words...)
	for _, m := range machines {
		shared.configure(m.harness)
		m.work("--jobs", "4")
	}
	for _, m := range machines {
		m.ready()
	}
	n.apart(count, "0.3")
	until(t, 10*hangTimeout, "all of them are done", func() bool { time.Sleep(50 * time.Millisecond); return n.waiting() == "0" })
	total := 0
	for _, m := range machines {
		m.end()
		total += m.results()
		if share := 100 * m.results() / count; m.results() == 0 || inSoak() && (share < 20 || share > 50) { // a few are not even
			t.Errorf("%s has done %d of %d", m.host, m.results(), count)
		}
		t.Logf("%s has done %d of %d", m.host, m.results(), count)
	}
	if total != count {
		t.Errorf("%d results, want %d", total, count)
	}
	if hosts := n.server.query("SELECT count(DISTINCT host) FROM scidex_oci.analysis_run"); hosts != "3" {
		t.Errorf("the catalog knows %s hosts", hosts)
	}
	if got := n.server.query("SELECT max(attempt) FROM scidex_oci.analysis_run"); got != "1" {
		t.Errorf("there are attempts up to %s", got)
	}
	n.doneOnce(count, machines...)
	if out := machines[0].calls("catalog", "check", "--digests"); out.code != 0 || strings.Contains(out.stdout, "elsewhere") {
		t.Errorf("not all blobs are in the bucket: %d %s %s", out.code, out.stdout, out.stderr)
	}
}

// attempts are the states of all attempts of an analysis.
func (n *network) attempts(id string) string {
	n.t.Helper()
	return n.server.query(fmt.Sprintf("SELECT string_agg(state, ' ' ORDER BY attempt) FROM scidex_oci.runs_v1 WHERE id = '%s'", id))
}

// becomes waits until the attempts of an analysis are so.
func (n *network) becomes(id string, attempts ...string) {
	n.t.Helper()
	var got string
	for deadline := time.Now().Add(hangTimeout); ; time.Sleep(20 * time.Millisecond) {
		if got = n.attempts(id); slices.Contains(attempts, got) {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("the attempts of %s are %q after %v, want %q", id, got, hangTimeout, attempts)
		}
	}
}

// rowOf locks the last row of an analysis.
func rowOf(id string) string {
	return fmt.Sprintf("SELECT FROM scidex_oci.analysis_run WHERE id = '%s' FOR UPDATE", id)
}

// A worker that is killed in any phase of an analysis loses it to another. What it has left is removed when a worker is
// started on its host again, or by gc. One that is started again before another has its job commits what had ended.
func TestQueueKilledInPhases(t *testing.T) {
	n := newNetwork(t)
	end, large, last := n.flag(), n.flag(), n.flag()
	stage := filepath.Dir(n.write("stage/0", "0", 0o644))
	for i := range 3000 {
		n.write(fmt.Sprintf("stage/%d", i), "x", 0o644)
	}
	const writes = "echo done >out"
	var victims []*machine
	for _, phase := range []struct {
		name   string
		script string
		args   []string
		reach  func(m *machine, id string) (release func())
	}{
		{"taken", writes, nil, nil}, // its row is held before it is submitted
		{"set-up", writes, flags("--stage", stage), func(_ *machine, id string) func() {
			n.becomes(id, "running", "complete") // if the moment was missed
			return func() {}
		}},
		{"running", awaited + "; " + writes, flags("--input", end.input()), func(_ *machine, id string) func() {
			until(t, hangTimeout, "it runs", func() bool { return len(processesOf(id)) > 0 })
			return func() {}
		}},
		{"harvest", awaited + "; head -c 100M /dev/zero >out", flags("--input", large.input()), func(m *machine, id string) func() {
			n.becomes(id, "running")
			release := n.server.holding(rowOf(id)) // it cannot get further
			large.raise()
			until(t, hangTimeout, "it has ended", func() bool { return m.analysisEnded(id) })
			return release
		}},
		{"commit", awaited + "; " + writes, flags("--input", last.input()), func(_ *machine, id string) func() {
			n.becomes(id, "running")
			release := n.server.holding(rowOf(id))
			last.raise()
			until(t, hangTimeout, "it waits for its row", func() bool { return n.server.blocked() == "1" })
			return release
		}},
	} {
		m := n.machine()
		id := n.id(phase.name)
		n.mustRun(append(append(flags("submit", "--id", id, "--memory", "64MiB"), phase.args...), "--", "sh", "-c", phase.script)...)
		var release func()
		if phase.reach == nil {
			release = n.server.holding(rowOf(id))
		}
		m.work("--jobs", "1")
		if phase.reach == nil {
			until(t, hangTimeout, "it waits for its row", func() bool { return n.server.blocked() != "0" })
		} else {
			release = phase.reach(m, id)
		}
		m.killed()
		release()
		t.Logf("%s: %s", phase.name, n.attempts(id))
		victims = append(victims, m)
	}
	n.server.overdue()
	end.raise()
	rescuer := n.machine()
	rescuer.work("--jobs", "3")
	until(t, hangTimeout, "all of them are done", func() bool { return n.waiting() == "0" })
	for i, m := range victims {
		if i%2 == 0 {
			m.gc()
		} else {
			m.work("--jobs", "1")
			m.ready()
			m.end()
		}
	}
	rescuer.end()
	n.doneOnce(len(victims), append(victims, rescuer)...)
}

// A machine that loses its network goes on with its runs. If the network is back before its jobs go to another, it
// commits; else it notices that it is too late, and leaves nothing.
func TestQueueNetworkCut(t *testing.T) {
	n := newNetwork(t)
	soon, late := n.flag(), n.flag()
	var victims []*machine
	var short, long []string
	for _, c := range cuts {
		m := n.machine()
		name := strings.ReplaceAll(c.name, " ", "-")
		ids := flags(n.id("short-"+name), n.id("long-"+name))
		for i, f := range []flag{soon, late} {
			n.mustRun("submit", "--id", ids[i], "--memory", "64MiB", "--input", f.input(), "--", "sh", "-c", awaited+"; echo done >out")
		}
		m.work("--jobs", "2")
		for _, id := range ids {
			until(t, hangTimeout, id+" runs", func() bool { return len(processesOf(id)) > 0 })
			n.becomes(id, "running")
		}
		short, long, victims = append(short, ids[0]), append(long, ids[1]), append(victims, m)
	}
	for i, m := range victims {
		cuts[i].cut(m)
	}
	soon.raise()
	for i, m := range victims {
		until(t, hangTimeout, "the analysis has ended", func() bool { return m.analysisEnded(short[i]) })
		n.becomes(short[i], "running")
		cuts[i].mend(m)
	}
	for _, id := range short {
		n.becomes(id, "complete")
		until(t, hangTimeout, "its job has, too", func() bool {
			return n.server.query("SELECT state FROM scidex_oci.river_job WHERE args ->> 'id' = '"+id+"'") == "completed"
		})
	}

	for i, m := range victims {
		cuts[i].cut(m)
	}
	n.server.overdue()
	rescuer := n.machine()
	rescuer.work("--jobs", "3")
	for _, id := range long {
		n.becomes(id, "lost running")
	}
	late.raise()
	for _, id := range long {
		n.becomes(id, "lost complete")
	}
	for i, m := range victims {
		until(t, hangTimeout, "the analysis has ended", func() bool { return m.analysisEnded(long[i]) })
		cuts[i].mend(m)
		until(t, hangTimeout, "the loser knows", func() bool { return strings.Contains(readFile(t, m.log), "another worker has the analysis") })
		m.end()
	}
	rescuer.end()
	n.doneOnce(len(short)+len(long), append(victims, rescuer)...)
}

// PostgreSQL is stopped in every way and started again while workers are busy.
func TestQueueServerRestarts(t *testing.T) {
	n := newNetwork(t)
	count := soakCount(600)
	machines := []*machine{n.machine(), n.machine(), n.machine()}
	for _, m := range machines {
		m.work("--jobs", "3")
		m.ready()
	}
	n.apart(count, "0.3")
	for i := range soakCount(60) / 2 {
		at := n.waiting()
		until(t, hangTimeout, "more of them are done", func() bool { return n.waiting() != at })
		n.server.stop([]syscall.Signal{syscall.SIGINT, syscall.SIGKILL, syscall.SIGQUIT}[i%3])
		n.server.start()
	}
	until(t, hangTimeout, "what is brought to a worker is done", func() bool {
		time.Sleep(50 * time.Millisecond)
		return n.server.query("SELECT count(*) FROM scidex_oci.river_job WHERE state IN ('available', 'retryable', 'scheduled')") == "0" && len(processesOf(n.run)) == 0
	})
	t.Logf("%s of %d were brought to a worker that does not know", n.waiting(), count)
	// A worker returns jobs that were assigned to it and that it does not know, within some 10 s.
	until(t, hangTimeout, "all of them are done", func() bool { return n.waiting() == "0" })
	for _, m := range machines {
		m.end()
	}
	n.doneOnce(count, machines...)
}

// A worker that is stopped while its network drops everything ends in a bounded time, and reports what it could not commit.
func TestQueueDrainInBlackHole(t *testing.T) {
	if !inSoak() {
		t.Skip("it waits for minutes until what does not answer is given up; scripts/soak has it")
	}
	n := newNetwork(t)
	const bound = 3 * time.Minute
	var busy, idle []*machine
	for range cuts {
		busy = append(busy, n.machine())
		n.mustRun("submit", "--id", n.id(busy[len(busy)-1].host), "--memory", "64MiB", "--", "sh", "-c", "sleep 1000")
		busy[len(busy)-1].work("--jobs", "1", "--drain", "1s")
		n.becomes(n.id(busy[len(busy)-1].host), "running")
		idle = append(idle, n.machine())
	}
	for _, m := range idle {
		m.work("--jobs", "1", "--drain", "1s")
		m.ready()
	}
	for i, c := range cuts {
		c.cut(busy[i])
		c.cut(idle[i])
	}
	time.Sleep(3 * time.Second) // they are in the midst of asking
	began := time.Now()
	for i := range cuts {
		busy[i].signal(syscall.SIGTERM)
		idle[i].signal(syscall.SIGTERM)
	}
	for i, c := range cuts {
		for _, m := range []*machine{idle[i], busy[i]} {
			select {
			case <-m.ended:
				t.Logf("%s, %s: ended with %d after %v at most", c.name, m.host, m.cmd.ProcessState.ExitCode(), time.Since(began).Round(time.Second))
			case <-time.After(time.Until(began.Add(bound))):
				t.Errorf("%s, %s: not ended after %v", c.name, m.host, bound)
				m.killed()
			}
		}
		if said := readFile(t, busy[i].log) + readFile(t, busy[i].out); !strings.Contains(said, "could not be committed") || !strings.Contains(said, n.id(busy[i].host)) {
			t.Errorf("%s: the worker does not say what it has left:\n%s", c.name, said)
		}
		c.mend(busy[i])
		c.mend(idle[i])
	}
	n.server.overdue()
	for i := range cuts {
		busy[i].work("--jobs", "1")
	}
	for i := range cuts { // each is with any of the workers
		n.becomes(n.id(busy[i].host), "canceled running")
		n.mustRun("queue", "cancel", n.id(busy[i].host))
		n.becomes(n.id(busy[i].host), "canceled canceled")
	}
	for _, m := range busy {
		m.end()
	}
	n.nothingLeft(append(busy, idle...)...)
}

// If a network fails for so long that a worker has ended its tries to commit, nothing is lost: the worker commits
// later, by itself, if the job is still its own, and otherwise removes what it has kept.
func TestQueueLongCut(t *testing.T) {
	if !inSoak() {
		t.Skip("a commit is tried for a minute; scripts/soak has it")
	}
	n := newNetwork(t)
	end := n.flag()
	keeps, loses := n.machine(), n.machine()
	for _, m := range []*machine{keeps, loses} {
		n.mustRun("submit", "--id", n.id(m.host), "--memory", "64MiB", "--input", end.input(), "--", "sh", "-c", awaited+"; echo done >out")
		m.work("--jobs", "1")
		n.becomes(n.id(m.host), "running")
		until(t, hangTimeout, "it runs", func() bool { return len(processesOf(n.id(m.host))) > 0 })
	}
	for _, m := range []*machine{keeps, loses} {
		m.loseReplies()
	}
	end.raise()
	for _, m := range []*machine{keeps, loses} {
		until(t, hangTimeout, "the commit is given up", func() bool { return len(matches(filepath.Join(m.root, "outcomes", "*@1"))) == 1 })
	}
	keeps.learn()
	n.becomes(n.id(keeps.host), "complete")
	n.server.overdue()
	rescuer := n.machine()
	rescuer.work("--jobs", "2")
	n.becomes(n.id(loses.host), "lost complete")
	until(t, hangTimeout, "both jobs have ended", func() bool { return n.waiting() == "0" })
	loses.learn()
	until(t, hangTimeout, "the loser has given up its result", func() bool { return len(matches(filepath.Join(loses.root, "outcomes", "*"))) == 0 })
	for _, m := range []*machine{keeps, loses, rescuer} {
		m.end()
	}
	n.doneOnce(2, keeps, loses, rescuer)
}

// Two machines may have the same name and the same path of their roots, for instance default ones. Neither takes the
// runs of the other for dead runs of its own.
func TestQueueNamesakes(t *testing.T) {
	if !theHost.root {
		t.Skip("only root can mount another machine-id; the tests as root cover it")
	}
	if id, err := os.ReadFile("/etc/machine-id"); err != nil || len(id) < 32 {
		t.Skipf("this machine has no machine-id(5), and that a machine of its name takes none of its runs is not tested: %v", err)
	}
	h, db := inQueue(t)
	end := h.flag()
	id := h.submit("runs", awaited+"; echo done >out", "--input", end.input())
	w := h.worker("--jobs", "1")
	h.comes(db, id, "running")
	identity, other := h.write("machine-id", "11111111222233334444555555555555\n", 0o644), h.path("other")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	namesake := w.command("unshare", "--mount", "sh", "-c",
		`mount --bind "$0" /etc/machine-id && mount --bind "$1" "$2" && shift 2 && exec "$@"`, identity, other, w.root, theHost.bin, "gc")
	if out := w.finish(namesake); out.code != 0 {
		t.Errorf("gc on the namesake: %d, %s", out.code, out.stderr)
	}
	if got := h.attempts(db, id); got != "running" {
		t.Errorf("the run of the other is %q", got)
	}
	end.raise()
	h.comes(db, id, "complete")
	if got := h.attempts(db, id); got != "complete" {
		t.Errorf("its attempts are %q", got)
	}
	w.end()
}
