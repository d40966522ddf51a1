package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// manifest is a line of a batch.
type manifest map[string]any

// and sets a field of a line.
func (m manifest) and(field string, value any) manifest {
	m[field] = value
	return m
}

// sh is a line that runs a script of the shell.
func sh(id, script string) manifest {
	return manifest{"id": id, "command": []string{"sh", "-c", script}}
}

// lines writes the file of a batch and returns its path.
func (h *harness) lines(all ...manifest) string {
	h.t.Helper()
	var text strings.Builder
	for _, m := range all {
		raw, err := json.Marshal(m)
		if err != nil {
			h.t.Fatal(err)
		}
		text.Write(append(raw, '\n'))
	}
	return h.write("lines.jsonl", text.String(), 0o644)
}

// results reads JSON lines of results, by their ids.
func (h *harness) results(stdout string) map[string]result {
	h.t.Helper()
	all := map[string]result{}
	for line := range strings.Lines(stdout) {
		r, err := parseResult([]byte(line))
		if err != nil {
			h.t.Fatalf("%v in %q", err, line)
		}
		if _, twice := all[r.ID]; twice {
			h.t.Errorf("two results of %q", r.ID)
		}
		all[r.ID] = r
	}
	return all
}

// batch runs one to its end, with the exit code.
func (h *harness) batch(code int, args ...string) (map[string]result, outcome) {
	h.t.Helper()
	out := h.do(append([]string{"batch"}, args...)...)
	if out.code != code {
		h.t.Fatalf("batch %q: exit code %d, want %d\n%s%s", args, out.code, code, out.stdout, out.stderr)
	}
	return h.results(out.stdout), out
}

// expectStates checks how the runs of a batch ended: "complete@1" by id.
func (h *harness) expectStates(got map[string]result, want map[string]string) {
	h.t.Helper()
	states := map[string]string{}
	for id, r := range got {
		states[id] = fmt.Sprintf("%s@%d", r.State, r.Attempt)
	}
	if !maps.Equal(states, want) {
		h.t.Errorf("%v, want %v", states, want)
	}
}

// A batch has one result for each line; flags apply to all lines, and a line's own fields to that line.
func TestBatch(t *testing.T) {
	h := newHarness(t)
	h.write("sub/say.sh", "echo \"$1\" >said; echo $COLOUR >>said\n", 0o644)
	file := h.lines(
		manifest{"id": h.id("script"), "script": "say.sh", "args": []string{"hi"}, "labels": map[string]string{"n": "1"}, "env": map[string]string{"COLOUR": "red"}},
		sh(h.id("command"), "echo $COLOUR >said"),
		sh(h.id("failed"), "echo oh >&2; exit 3"),
		manifest{"id": h.id("refused"), "command": []string{"true"}, "data": "/"},
		manifest{"command": []string{"true"}},
	)
	if err := os.Rename(file, h.path("sub/lines.jsonl")); err != nil {
		t.Fatal(err)
	}
	got, out := h.batch(125, "--env", "COLOUR=blue", "--label", "of=all", "--jobs", "3", "sub/lines.jsonl")
	if len(got) != 5 {
		t.Fatalf("%d results\n%s", len(got), out.stdout)
	}
	for id, r := range got {
		switch id {
		case h.id("script"):
			r.expect(t, "complete", "exit", 0)
			if text := readFile(t, h.blobPath(r.output("said").SHA256)); text != "hi\nred\n" || r.Labels["n"] != "1" || r.Labels["of"] != "all" {
				t.Errorf("%q, %v", text, r.Labels)
			}
		case h.id("command"):
			r.expect(t, "complete", "exit", 0)
			if text := readFile(t, h.blobPath(r.output("said").SHA256)); text != "blue\n" {
				t.Errorf("%q", text)
			}
		case h.id("failed"):
			r.expect(t, "failed", "exit", 3)
		case h.id("refused"):
			r.expect(t, "error", "request", 125)
			if !strings.HasPrefix(r.Message, "sub/lines.jsonl:4: ") || r.Line != 4 {
				t.Errorf("%q", r.Message)
			}
		default: // an id that was made
			r.expect(t, "complete", "exit", 0)
			h.mustRun("rm", id)
		}
	}
	named, summary, _ := strings.Cut(out.stderr, "scidex-oci: ")
	checkSentence(t, "scidex-oci: "+summary, "3 complete, 1 failed, 1 error", "3 jobs") // and nothing again
	if strings.Count(named, "\n") != 2 || strings.Count(named, "  the analysis exited with 3: oh\n") != 1 {
		t.Errorf("%q does not say once what has failed", named)
	}
	for _, want := range []string{"failed    " + h.id("failed") + "  ", "error     " + h.id("refused") + "  sub/lines.jsonl:4: "} {
		if strings.Count("\n"+named, "\n"+want) != 1 {
			t.Errorf("%q does not name %q once", named, want)
		}
	}
}

// The runs of a batch share one file of events, and each has its own from first to last.
func TestBatchReports(t *testing.T) {
	h := newHarness(t)
	first, second, refused := h.id("first"), h.id("second"), h.id("refused")
	file := h.lines(sh(first, "echo out; echo said >f"), sh(second, "exit 3"), manifest{"id": refused, "command": []string{"true"}, "data": "/"})
	got, _ := h.batch(125, "--jobs", "2", "--events", "events.jsonl", file)
	all, err := parseEvents([]byte(readFile(t, h.path("events.jsonl"))))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{first, second} {
		all.of(id).expect(t, "created started exited harvested finished", got[id])
	}
	if text, _, err := all.of(first).stream("stdout"); text != "out\n" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if types := all.of(refused).lifecycle(); types != "finished" {
		t.Errorf("of the refused line %q", types)
	}
}

// If a file has a bad line, nothing is run, and each bad one is reported.
func TestBatchIsValidatedWhole(t *testing.T) {
	h := newHarness(t)
	file := h.write("bad.jsonl", strings.Join([]string{
		`{"id":"` + h.id("good") + `","command":["true"]}`, ``, `{"id":"x","comand":["true"]}`, `{"command":["true"],"memory":"much"}`, `id: yaml`,
		`{"id":"` + h.id("good") + `","command":["true"]}`, `{"command":["true"]} {}`,
		`{"script":"nosuch.py"}`, `{"command":["true"],"data":"nosuch"}`, `{"command":["true"],"inputs":["nosuch"]}`, `{"command":["true"],"rootfs":"nosuch"}`,
	}, "\n"), 0o644)
	out := h.do("batch", file)
	if out.code != 125 || strings.Count(out.stdout, "\n") != 9 {
		t.Fatalf("exit code %d\n%s", out.code, out.stdout)
	}
	for _, words := range []string{
		`:3: unknown field "comand"`, `:4: memory: "much"`, ":5: malformed JSON", fmt.Sprintf(":6: id %q is that of line 1 already", h.id("good")), ":7: malformed JSON",
		":8: --script ", ":9: --data ", ":10: --input ", ":11: --rootfs: ",
		"9 lines of 10 cannot be run",
	} {
		if !strings.Contains(out.stderr, words) {
			t.Errorf("no %q in %q", words, out.stderr)
		}
	}
	for i, line := range strings.Split(strings.TrimSpace(out.stdout), "\n") {
		r, err := parseResult([]byte(line + "\n"))
		if err != nil || r.Line != i+3 || r.Reason != "request" {
			t.Errorf("%d, %s: %s, %v", r.Line, r.Reason, r.Message, err)
		}
	}
	if listed := h.mustRun("ls", "--quiet").stdout; listed != "" {
		t.Errorf("the catalog has %q", listed)
	}
}

// A bad line on standard input is a result, and the others run.
func TestBatchFromStandardInput(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, "batch", "-")
	cmd.Stdin = strings.NewReader(`{"id":"` + h.id("a") + `","command":["true"]}` + "\n\nno JSON\n" + `{"id":"` + h.id("wrong") + `","comand":["true"]}` + "\n" + `{"id":"` + h.id("b") + `","command":["true"]}`)
	out := h.finish(cmd)
	got := h.results(out.stdout)
	h.expectStates(got, map[string]string{h.id("a"): "complete@1", h.id("b"): "complete@1", "": "error@0", h.id("wrong"): "error@0"})
	if r := got[""]; out.code != 125 || r.Reason != "request" || !strings.HasPrefix(r.Message, "standard input:3: malformed JSON") {
		t.Errorf("exit code %d, %q", out.code, r.Message)
	}
}

// runningBatch starts a batch and returns when its runs, each of which says "ready", have started.
func (h *harness) runningBatch(stdout io.Writer, ids []string, args ...string) *exec.Cmd {
	h.t.Helper()
	cmd := h.command(theHost.bin, append([]string{"batch"}, args...)...)
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	for _, id := range ids {
		until(h.t, hangTimeout, id+" begins", func() bool { return strings.Contains(h.do("logs", id).stdout, "ready") })
	}
	return cmd
}

// tell sends a signal to a batch.
func (h *harness) tell(cmd *exec.Cmd, s syscall.Signal) {
	h.t.Helper()
	if err := cmd.Process.Signal(s); err != nil {
		h.t.Fatal(err)
	}
}

// ended waits for a batch, with the exit code; -1 is that of one that was killed.
func (h *harness) ended(cmd *exec.Cmd, code int) {
	h.t.Helper()
	_ = cmd.Wait() // the exit code is checked
	if got := cmd.ProcessState.ExitCode(); got != code {
		h.t.Fatalf("batch: exit code %d, want %d", got, code)
	}
}

// waits is a script that says "ready" and ends by SIGTERM.
const waits = `trap 'echo asked >asked; exit 0' TERM; echo ready; while :; do sleep 0.05; done`

// A batch that SIGINT, SIGQUIT or SIGTERM drains has a whole result for each line, and --resume goes on with it.
func TestBatchDrains(t *testing.T) {
	for signal, code := range map[syscall.Signal]int{unix.SIGINT: 130, unix.SIGQUIT: 131, unix.SIGTERM: 143} {
		t.Run(signal.String(), func(t *testing.T) {
			h := newHarness(t)
			done, one, two, never := h.id("done"), h.id("one"), h.id("two"), h.id("never")
			file := h.lines(sh(done, "exit 0"), sh(one, waits), sh(two, waits), sh(never, "true"))
			var stdout, stderr strings.Builder
			cmd := h.command(theHost.bin, "batch", "--jobs=2", "--junit", "junit.xml", file)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for _, id := range flags(one, two) {
				until(t, hangTimeout, id+" begins", func() bool { return strings.Contains(h.do("logs", id).stdout, "ready") })
			}
			h.tell(cmd, signal)
			h.ended(cmd, code)
			got := h.results(stdout.String())
			h.expectStates(got, map[string]string{done: "complete@1", one: "canceled@1", two: "canceled@1"})
			if got[one].output("asked").SHA256 == "" || got[one].ExitCode != code {
				t.Errorf("it was not asked to end: %+v", got[one])
			}
			if !strings.Contains(stderr.String(), "1 line was not started, which --resume takes up") {
				t.Errorf("%q", stderr.String())
			}
			h.expectCases("junit.xml", map[string]string{done: "", one: "skipped", two: "skipped", never: "skipped"})
			resumed := strings.ReplaceAll(readFile(t, file), "while :", "while false")
			h.write("lines.jsonl", resumed, 0o644)
			if _, out := h.batch(125, "--resume", file); !strings.Contains(out.stdout, "has changed since it was run: command was") {
				t.Errorf("a changed request: %s", out.stdout)
			}
			h.drainAgain(file, never)
		})
	}
}

// A script that was corrected is run as the next attempt: --rerun says for which lines, and keeps their earlier
// attempts. Each refusal names it.
func TestBatchRerun(t *testing.T) {
	h := newHarness(t)
	bug, done := h.id("bug"), h.id("done")
	line := func(id, word string) manifest { return manifest{"id": id, "script": "fit.sh", "args": []string{word}} }
	file := h.lines(line(bug, "bug"), line(done, "done"))
	h.write("fit.sh", "echo old >out; [ $1 = done ]\n", 0o644)
	h.batch(1, file)
	h.write("fit.sh", "echo new >out\n", 0o644)
	for _, refused := range [][]string{{file}, {"--resume", file}} {
		if _, out := h.batch(125, refused...); strings.Count(out.stdout, "--rerun") != 2 || !strings.Contains(out.stdout, "as it is now with --rerun") {
			t.Errorf("batch %q: %s", refused, out.stdout)
		}
	}
	made := func(got map[string]result, id, want string) {
		t.Helper()
		if text := h.blob(got[id].output("out").SHA256); text != want+"\n" {
			t.Errorf("%s has %q, want %q", id, text, want)
		}
	}
	got, out := h.batch(0, "--rerun", "failed", file)
	h.expectStates(got, map[string]string{bug: "complete@2", done: "complete@1"})
	made(got, bug, "new")
	made(got, done, "old")
	if !strings.Contains(out.stderr, "one line has changed since it was run: --rerun changed") {
		t.Errorf("%s", out.stderr)
	}
	got, _ = h.batch(0, "--rerun", "changed", file)
	h.expectStates(got, map[string]string{bug: "complete@2", done: "complete@2"})
	made(got, done, "new")
	h.lines(line(bug, "bug"), line(done, "done"), line(h.id("new"), "new"))
	got, _ = h.batch(0, "--resume", "--rerun", "all", file)
	h.expectStates(got, map[string]string{bug: "complete@3", done: "complete@3", h.id("new"): "complete@1"})
	first := h.show(bug + "@1")
	first.expect(t, "failed", "exit", 1)
	made(map[string]result{bug: first}, bug, "old")
}

// --rerun runs the lines of a sweep again too. A line that has another attempt below --export is refused before it runs.
func TestBatchRerunsASweep(t *testing.T) {
	h := newHarness(t)
	h.write("fit.sh", "[ $2 = 0 ]\n", 0o644)
	sweep := func(code int, args ...string) map[string]result {
		t.Helper()
		got, _ := h.batch(code, append(args, "--label", "sweep="+h.id("s"), "--sweep", "seed=0..1", "--export", "out", "--script", "fit.sh")...)
		return got
	}
	states := func(got map[string]result) (all [2]string) {
		for _, r := range got {
			all[r.Line-1] = fmt.Sprintf("%s@%d", r.State, r.Attempt)
		}
		return all
	}
	if got := states(sweep(1)); got != [2]string{"complete@1", "failed@1"} {
		t.Fatalf("%v", got)
	}
	h.write("fit.sh", "true\n", 0o644)
	if got := states(sweep(125, "--rerun", "failed")); got != [2]string{"complete@1", "error@0"} {
		t.Errorf("over what is exported: %v", got)
	}
	if got := states(sweep(0, "--rerun", "failed", "--overwrite")); got != [2]string{"complete@1", "complete@2"} {
		t.Errorf("%v", got)
	}
}

// Two batches of one file at once: each runs a part, and says once that another command has the rest; --resume runs what is left.
func TestBatchesAtOnce(t *testing.T) {
	h := newHarness(t)
	held := func(id string) manifest {
		return sh(id, "[ -e /data/go ] && exit; "+waits).and("data", h.path("gate"))
	}
	h.write("gate/here", "", 0o644)
	one, two, last := h.id("one"), h.id("two"), h.id("last")
	file := h.lines(held(one), held(two), sh(last, "true"))
	var stdout, stderr strings.Builder
	first := h.command(theHost.bin, "batch", "--jobs=2", file)
	first.Stdout, first.Stderr = &stdout, &stderr
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	for _, id := range flags(one, two) {
		until(t, hangTimeout, id+" begins", func() bool { return strings.Contains(h.do("logs", id).stdout, "ready") })
	}
	second, out := h.batch(125, file)
	h.expectStates(second, map[string]string{one: "error@0", two: "error@0", last: "complete@1"})
	once := func(stderr, want string) {
		t.Helper()
		if strings.Count(stderr, want) != 1 || strings.Count(stderr, "\n") != 1 {
			t.Errorf("not one line with %q: %s", want, stderr)
		}
	}
	once(out.stderr, "; 2 ids, such as "+h.id(""))
	once(out.stderr, " were taken by another command that runs now: --resume takes up what is left when that has ended")
	if !strings.Contains(second[one].Message, "is run by another command now; --resume") {
		t.Errorf("%q", second[one].Message)
	}
	h.mustRun("stop", one)
	h.mustRun("stop", two)
	h.ended(first, 125)
	h.expectStates(h.results(stdout.String()), map[string]string{one: "canceled@1", two: "canceled@1", last: "error@0"})
	if said := stderr.String(); strings.Count(said, last) != 1 || !strings.Contains(said, "; id "+last+" was used before: add --resume") {
		t.Errorf("%s", said)
	}
	h.write("gate/go", "", 0o644)
	all, _ := h.batch(0, "--resume", file)
	h.expectStates(all, map[string]string{one: "complete@2", two: "complete@2", last: "complete@1"})
}

// drainAgain resumes a batch of which one line was not started, and ends its others one by one.
func (h *harness) drainAgain(file, never string) {
	h.t.Helper()
	one, two := h.id("one"), h.id("two")
	h.lines(sh(h.id("done"), "exit 0"), sh(one, waits), sh(two, waits), sh(never, "true"))
	var stdout strings.Builder
	cmd := h.command(theHost.bin, "batch", "--resume", "--jobs=4", file)
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	for _, id := range flags(one, two) {
		until(h.t, hangTimeout, id+" begins again", func() bool { return strings.Contains(h.do("logs", id+"@2").stdout, "ready") })
		h.mustRun("stop", id)
	}
	h.ended(cmd, 1)
	h.expectStates(h.results(stdout.String()), map[string]string{
		h.id("done"): "complete@1", one: "canceled@2", two: "canceled@2", never: "complete@1",
	})
}

// An analysis that is prepared when a batch is drained has not started: it is canceled, and --resume runs it. Later
// lines were not started.
func TestBatchDrainsWhatIsReady(t *testing.T) {
	h := newHarness(t)
	one, ready, never := h.id("one"), h.id("ready"), h.id("never")
	var lines []manifest
	for i := range 20 {
		lines = append(lines, sh(h.id(fmt.Sprint("short", i)), "true"))
	}
	file := h.lines(append(lines, sh(one, waits), sh(ready, "touch began"), sh(never, "true"))...)
	var stdout strings.Builder
	cmd := h.command(theHost.bin, "batch", "--jobs=1", file)
	cmd.Stdout = &stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, one+" begins", func() bool { return strings.Contains(h.do("logs", one).stdout, "ready") })
	until(t, hangTimeout, ready+" has its directory", func() bool { return len(matches("/tmp/scidex-analysis-"+ready+"/work")) > 0 })
	until(t, hangTimeout, "a container stands at its gate", func() bool {
		return len(processes(func(p process) bool { return bytes.HasSuffix(p.command, []byte("\x00init\x00")) })) > 0
	})
	h.tell(cmd, unix.SIGINT)
	h.ended(cmd, 130)
	got := h.results(stdout.String())
	if _, told := got[never]; told || len(got) != 22 {
		t.Errorf("%d results, want 22, and none of %s", len(got), never)
	}
	h.expectStates(map[string]result{one: got[one], ready: got[ready]}, map[string]string{one: "canceled@1", ready: "canceled@1"})
	if r := got[ready]; r.StartedAt != nil || r.Reason != "stopped" || len(r.Outputs) > 0 || !strings.Contains(r.Message, "before anything was run") {
		t.Errorf("it had not started: %+v", r)
	}
	file = h.lines(sh(ready, "touch began"), sh(never, "true"))
	resumed, _ := h.batch(0, "--resume", file)
	h.expectStates(resumed, map[string]string{ready: "complete@2", never: "complete@1"})
	h.touched(h.gc())
}

// A second signal ends the grace period of a run that ignores the first.
func TestBatchIsEndedBySecondSignal(t *testing.T) {
	h := newHarness(t)
	id := h.id("stubborn")
	file := h.lines(sh(id, `trap 'echo asked >&2' TERM; echo ready; while :; do sleep 0.05; done`))
	var stdout strings.Builder
	cmd := h.runningBatch(&stdout, flags(id), "--grace=1h", file)
	h.tell(cmd, unix.SIGTERM)
	until(t, hangTimeout, "it is asked to end", func() bool { return strings.Contains(h.do("logs", "--stderr", id).stdout, "asked") })
	h.tell(cmd, unix.SIGTERM)
	h.ended(cmd, 143)
	h.expectStates(h.results(stdout.String()), map[string]string{id: "canceled@1"})
}

// --resume completes a killed batch: no run that had ended is run twice, and nothing is lost.
func TestBatchResumesAfterItWasKilled(t *testing.T) {
	h := newHarness(t)
	end := h.flag()
	once := `echo ready; [ -s /inputs/flag ] || sleep 1000; echo "$0" >own`
	ids := flags(h.id("a"), h.id("b"))
	lines := []manifest{sh(h.id("bad"), "exit 1"), sh(h.id("good"), "echo x >x")}
	for _, id := range append(ids, h.id("c")) {
		lines = append(lines, sh(id, once).and("inputs", flags(end.input())))
	}
	file := h.lines(lines...)
	cmd := h.runningBatch(io.Discard, ids, "--jobs=2", file)
	h.tell(cmd, unix.SIGKILL)
	h.ended(cmd, -1)
	end.raise()
	got, _ := h.batch(1, "--resume", "--junit=junit.xml", file)
	h.expectStates(got, map[string]string{
		h.id("bad"): "failed@1", h.id("good"): "complete@1", h.id("a"): "complete@2", h.id("b"): "complete@2", h.id("c"): "complete@1",
	})
	h.expectCases("junit.xml", map[string]string{h.id("bad"): "failure", h.id("good"): "", h.id("a"): "", h.id("b"): "", h.id("c"): ""})
	if r := h.show(h.id("a") + "@1"); r.State != "lost" {
		t.Errorf("the attempt that was killed is %s", r.State)
	}
	again, _ := h.batch(1, "--resume", file)
	h.expectStates(again, map[string]string{
		h.id("bad"): "failed@1", h.id("good"): "complete@1", h.id("a"): "complete@2", h.id("b"): "complete@2", h.id("c"): "complete@1",
	})
	h.touched(h.gc())
}

// A run that had ended when a batch was killed, and was not committed, is committed by --resume as it ended, and not run again.
func TestBatchResumesBeforeTheCommit(t *testing.T) {
	h := newHarness(t)
	good, bad := h.id("good"), h.id("bad")
	end := h.flag()
	var lines []manifest
	for id, code := range map[string]string{good: "0", bad: "3"} {
		lines = append(lines, sh(id, "echo ready; "+awaited+"; echo "+id+" >own; exit "+code).and("inputs", flags(end.input())))
	}
	file := h.lines(lines...)
	cmd := h.runningBatch(io.Discard, flags(good, bad), "--jobs=2", file)
	release := h.lockCatalog()
	end.raise()
	until(t, hangTimeout, "both outputs and the log are published", func() bool { return len(matches(h.blobPath("*"))) >= 3 })
	h.tell(cmd, unix.SIGKILL)
	h.ended(cmd, -1)
	release()
	for _, id := range flags(good, bad) {
		h.show(id).expect(t, "running", "", 0)
	}
	got, _ := h.batch(1, "--resume", file)
	h.expectStates(got, map[string]string{good: "complete@1", bad: "failed@1"})
	for id, r := range got {
		if text := readFile(t, h.blobPath(r.output("own").SHA256)); text != id+"\n" {
			t.Errorf("the output of %s is %q", id, text)
		}
		if !strings.Contains(strings.Join(r.Warnings, "\n"), "committed by recovery") {
			t.Errorf("warnings of %s: %q", id, r.Warnings)
		}
	}
	h.touched(h.gc())
}

// --fail-fast starts nothing more, and lets running lines end.
func TestBatchFailsFast(t *testing.T) {
	h := newHarness(t)
	h.setenv("GITHUB_ACTIONS", "true")
	file := h.lines(sh(h.id("good"), "true"), sh(h.id("bad"), "exit 4"), sh(h.id("never"), "true"))
	got, out := h.batch(1, "--fail-fast", "--jobs=1", file)
	h.expectStates(got, map[string]string{h.id("good"): "complete@1", h.id("bad"): "failed@1"})
	if want := "::error title=" + h.id("bad") + "::the analysis exited with 4\n"; !strings.Contains(out.stderr, "\n"+want) {
		t.Errorf("no %q in %q", want, out.stderr)
	}
	if !strings.Contains(out.stderr, "enough have failed: 1 line was not started") {
		t.Errorf("%q", out.stderr)
	}
}

// --resume calls only the hook of a run whose hook has failed, and events report that end, and a refusal.
func TestBatchResumesHooks(t *testing.T) {
	h := newHarness(t)
	id := h.id("a")
	file := h.lines(sh(id, "echo x >x"))
	got, _ := h.batch(125, "--post-process=false", file)
	h.expectStates(got, map[string]string{id: "error@1"})
	got, _ = h.batch(0, "--resume", "--post-process=true", "--events=hook.jsonl", file)
	h.expectStates(got, map[string]string{id: "complete@1"})
	h.expectFinished("hook.jsonl", id, "complete")
	h.lines(sh(id, "echo y >x"))
	h.batch(125, "--resume", "--events=changed.jsonl", file)
	h.expectFinished("changed.jsonl", id, "error")
}

// expectFinished checks a file of events that has an end and nothing else.
func (h *harness) expectFinished(name, id, state string) {
	h.t.Helper()
	all, err := parseEvents([]byte(readFile(h.t, h.path(name))))
	if err != nil {
		h.t.Fatal(err)
	}
	var told result
	if err := all.read("run.finished", &told); err != nil {
		h.t.Fatal(err)
	}
	if len(all) != 1 || told.ID != id || told.State != state {
		h.t.Errorf("%d events, the end of %q is %q", len(all), told.ID, told.State)
	}
}

// cases is what the tests read of JUnit XML.
type cases struct {
	XMLName xml.Name `xml:"testsuites"`
	Suite   struct {
		Tests int `xml:"tests,attr"`
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

// expectCases checks a report: why each case failed, "" if it did not.
func (h *harness) expectCases(name string, want map[string]string) {
	h.t.Helper()
	var read cases
	if err := xml.Unmarshal([]byte(readFile(h.t, h.path(name))), &read); err != nil {
		h.t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range read.Suite.Cases {
		got[c.Name] = map[bool]string{true: "failure"}[c.Failure != nil] + map[bool]string{true: "error"}[c.Error != nil] + map[bool]string{true: "skipped"}[c.Skipped != nil]
	}
	if !maps.Equal(got, want) || read.Suite.Tests != len(want) {
		h.t.Errorf("%v of %d, want %v", got, read.Suite.Tests, want)
	}
}

// batchGrowth is how much the launcher may grow between the first quarter of a batch and its end: what the garbage
// collector leaves, independent of the batch's length.
const batchGrowth = 12 << 20

// TestBatchOfMany runs 1,000 analyses from standard input, 100 in CI: none is lost. If SCIDEX_OCI_SOAK is set, memory
// does not grow.
func TestBatchOfMany(t *testing.T) {
	h, n := newHarness(t), soakCount(1000)
	cmd := h.command(theHost.bin, "batch", "--jobs=4", "-")
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for i := range n {
			fmt.Fprintf(to, "{\"id\":%q,\"command\":[\"true\"]}\n", h.id(fmt.Sprint(i))) // a batch that ends early is reported below
		}
	}()
	var ids []string
	early := int64(0)
	for lines := bufio.NewReader(from); len(ids) < n; {
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatalf("after %d results: %v", len(ids), err)
		}
		r, err := parseResult([]byte(line))
		if err != nil {
			t.Fatal(err)
		}
		r.expect(t, "complete", "exit", 0)
		if ids = append(ids, r.ID); len(ids) == n/4 {
			early = residentMost(t, cmd.Process.Pid)
		}
	}
	late := residentMost(t, cmd.Process.Pid)
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	h.ended(cmd, 0)
	t.Logf("the launcher had %d MiB at a quarter, %d MiB at the end", early>>20, late>>20)
	if inSoak() && late > early+batchGrowth {
		t.Errorf("the launcher has grown by %d bytes", late-early)
	}
	slices.Sort(ids)
	if distinct := len(slices.Compact(ids)); distinct != n {
		t.Errorf("%d ids, want %d", distinct, n)
	}
	h.touched(h.gc())
}
