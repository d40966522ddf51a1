package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// hook writes a post-process command that works in the caller's directory.
func (h *harness) hook(script string) string {
	return h.write("hook.sh", "#!/bin/sh\nset -e\n"+script, 0o755)
}

// expectHook checks what a result says of a hook that was called and ended.
func (r result) expectHook(t *testing.T, code int, signal string, timedOut bool) {
	t.Helper()
	p := r.PostProcess
	if p == nil || p.ExitCode == nil || p.StartedAt == nil {
		t.Fatalf("post_process is %+v", p)
	}
	got := ""
	if p.Signal != nil {
		got = *p.Signal
	}
	if *p.ExitCode != code || got != signal || p.TimedOut != timedOut || len(p.Command) == 0 {
		t.Errorf("post_process is %+v with exit code %d and signal %q", p, *p.ExitCode, got)
	}
}

// expectNoViews checks that no copies of outputs are left.
func (h *harness) expectNoViews() {
	h.t.Helper()
	if left := matches(filepath.Join(h.root, "post-process", "*")); len(left) > 0 {
		h.t.Errorf("left of post-processing: %q", left)
	}
}

// A hook gets the result, copies of the outputs and the caller's environment, and nothing else.
func TestPostProcess(t *testing.T) {
	h := newHarness(t)
	h.setenv("OF_THE_CALLER", "yes")
	h.hook(`
cat >result
printf '%s\n' "$@" >args
env >environment
pwd >directory
ls /proc/self/fd >descriptors
find "$SCIDEX_OUTPUT_DIR" -printf '%P %m %n\n' | sort >tree
cat "$SCIDEX_OUTPUT_DIR/deep/er/file" >content
echo said; echo complained >&2
`)
	extra, err := os.Open(h.dir) // an open file of the caller's
	if err != nil {
		t.Fatal(err)
	}
	defer extra.Close()
	id := h.id("good")
	cmd := h.command(theHost.bin, "run", "--json", "--id", id, "--post-process", `./hook.sh 'a  b' c\ d "\$HOME" '' "`+"\t"+`"`, "--",
		"sh", "-c", "mkdir -p deep/er; echo content >deep/er/file; echo top >'n a m e'; chmod 777 'n a m e'; ln -s /etc link")
	cmd.ExtraFiles = []*os.File{extra}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	r := h.resultOf(cmd)
	r.expect(t, "complete", "exit", 0)
	r.expectHook(t, 0, "", false)
	if got := h.show(id); got.State != "complete" || got.PostProcess == nil || got.PostProcess.Stderr != "complained\n" {
		t.Errorf("the catalog has %s, %+v", got.State, got.PostProcess)
	}
	if !strings.Contains(stderr.String(), "said\n") || !strings.Contains(stderr.String(), "complained\n") {
		t.Errorf("standard error has %q", stderr.String())
	}
	given, err := parseResult([]byte(readFile(t, h.path("result")) + "\n"))
	if err != nil || given.State != "complete" || given.ExitCode != 0 || given.PostProcess != nil || len(given.Outputs) != 2 {
		t.Errorf("the hook was given %+v, %v", given, err)
	}
	for name, want := range map[string]string{
		"args":      "a  b\nc d\n$HOME\n\n\t\n",
		"content":   "content\n",
		"directory": h.dir + "\n",
		"tree":      " 500 3\ndeep 555 3\ndeep/er 555 2\ndeep/er/file 440 1\nn a m e 555 1\n",
		// The third is ls' own, of the directory.
		"descriptors": "0\n1\n2\n3\n",
	} {
		if got := readFile(t, h.path(name)); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	environment := readFile(t, h.path("environment"))
	for _, line := range []string{"OF_THE_CALLER=yes", "SCIDEX_ANALYSIS_ID=" + id, "SCIDEX_ATTEMPT=1", "SCIDEX_OUTPUT_DIR=" + h.root} {
		if !strings.Contains("\n"+environment, "\n"+line) {
			t.Errorf("no %s in %q", line, environment)
		}
	}
	h.expectNoViews()
	h.mustRefuse([]string{"post-process", id, "--post-process", "./hook.sh"}, "has succeeded", "--again")
	h.mustRun("post-process", id, "--post-process", "./hook.sh", "--again")
}

// A failing hook makes the run an error with all its outputs, and is repeated without the analysis.
func TestPostProcessFails(t *testing.T) {
	h := newHarness(t)
	h.hook(`echo "called for $SCIDEX_ATTEMPT" >>calls; test -e good && exit 0; head -c 100000 /dev/zero >&2; echo the end >&2; exit 7`)
	id := h.id("bad")
	r := h.start("--id", id, "--keep", "failed", "--post-process", "./hook.sh", "--", "sh", "-c", "echo content >file")
	r.expect(t, "error", "post_process", 125)
	r.expectHook(t, 7, "", false)
	if kept := r.PostProcess.Stderr; !strings.HasSuffix(kept, "the end\n") || strings.Count(kept, "\uFFFD")+len("the end\n") != 64<<10 {
		t.Errorf("%d characters of standard error are kept", len([]rune(kept)))
	}
	if len(r.Outputs) != 1 || r.Kept == "" || readFile(t, filepath.Join(r.Kept, "file")) != "content\n" {
		t.Errorf("outputs %v, kept %q", r.paths(), r.Kept)
	}
	h.show(id).expect(t, "error", "post_process", 125)
	if list := h.mustRun("ls", "--quiet", "--reason", "post_process").stdout; list != id+"\n" {
		t.Errorf("ls --reason post_process: %q", list)
	}
	if shown := h.mustRun("show", id).stdout; !strings.Contains(shown, "post        exit 7, ") {
		t.Errorf("show: %q", shown)
	}
	h.mustRefuse([]string{"post-process", id}, "--post-process", "hook.sh")
	if out := h.do("post-process", id, "--post-process", "./hook.sh"); out.code != 125 {
		t.Errorf("a failing repetition ended with %d", out.code)
	}
	h.write("good", "", 0o644)
	again, err := parseResult([]byte(h.mustRun("post-process", "--json", id, "--post-process", "./hook.sh").stdout))
	if err != nil {
		t.Fatal(err)
	}
	again.expect(t, "complete", "exit", 0)
	again.expectHook(t, 0, "", false)
	if calls := readFile(t, h.path("calls")); calls != strings.Repeat("called for 1\n", 3) {
		t.Errorf("calls: %q", calls)
	}
	h.mustRun("rm", id)
	h.expectNoViews()
}

// At the timeout, and when the user stops it, the hook's whole process group is killed, whatever it ignores.
func TestPostProcessIsEnded(t *testing.T) {
	const stubborn = `(trap '' TERM; while :; do sleep 1; done) & trap '' TERM; echo ready; while :; do sleep 1; done`
	t.Run("timeout", func(t *testing.T) {
		h := newHarness(t)
		h.hook(stubborn)
		r := h.start("--id", h.id("slow"), "--post-process", "./hook.sh", "--post-process-timeout", "300ms", "--", "true")
		r.expect(t, "error", "post_process", 125)
		r.expectHook(t, 137, "SIGKILL", true)
		if !strings.Contains(r.Message, "timed out after 300ms") {
			t.Errorf("message %q", r.Message)
		}
	})
	t.Run("stopped", func(t *testing.T) {
		h := newHarness(t)
		h.hook(stubborn)
		l := h.launch(h.newID(), "--post-process", "./hook.sh", "--", "true")
		l.await("ready")
		l.signal(syscall.SIGINT)
		l.signal(syscall.SIGTERM)
		r := l.wait()
		r.expect(t, "error", "post_process", 125)
		r.expectHook(t, 137, "SIGKILL", false)
		if !strings.Contains(r.Message, "was stopped by SIG") {
			t.Errorf("message %q", r.Message)
		}
	})
	t.Run("left behind", func(t *testing.T) {
		h := newHarness(t)
		h.hook(`(while :; do sleep 1; done) &`)
		r := h.start("--id", h.id("daemon"), "--post-process", "./hook.sh", "--", "true")
		r.expect(t, "complete", "exit", 0) // and the harness finds nothing left of it
	})
}

// A run whose launcher was killed in its hook is never taken for complete; gc reports it, and the hook is repeated, the
// analysis is not.
func TestPostProcessKilled(t *testing.T) {
	h := newHarness(t)
	h.hook(`echo $$ >pid; test -e good && exit 0; echo ready; while :; do sleep 1; done`)
	id := h.newID()
	l := h.launch(id, "--post-process", "./hook.sh", "--", "sh", "-c", "echo content >file")
	l.await("ready")
	h.show(id).expect(t, "error", "post_process", 125)
	h.mustRefuse([]string{"rm", id}, "still at work")
	h.mustRefuse([]string{"post-process", id, "--post-process", "./hook.sh"}, "still at work")
	if c := h.collectOwed(); len(c) > 0 {
		t.Errorf("gc beside a living launcher tells of %q", c)
	}
	hook, err := strconv.Atoi(strings.TrimSpace(readFile(t, h.path("pid"))))
	if err != nil {
		t.Fatal(err)
	}
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	expectGone(t, all, id+"-none")
	if !slices.ContainsFunc(all, func(w watched) bool { return w.pid == hook }) {
		t.Fatalf("the hook %d was not among the launcher's processes", hook)
	}
	if len(matches(filepath.Join(h.root, "post-process", "*"))) != 1 {
		t.Error("there is no view to clean up")
	}
	if c := h.collectOwed(); !slices.Equal(c, []string{id}) {
		t.Errorf("gc tells of %q", c)
	}
	h.expectNoViews()
	got := h.show(id)
	got.expect(t, "error", "post_process", 125)
	if got.PostProcess == nil || got.PostProcess.ExitCode != nil || len(got.Outputs) != 1 {
		t.Errorf("after gc: %+v, outputs %v", got.PostProcess, got.paths())
	}
	h.write("good", "", 0o644)
	h.mustRun("post-process", id, "--post-process", "./hook.sh")
	h.show(id).expect(t, "complete", "exit", 0)
}

// collectOwed are the hooks that gc reports as not called.
func (h *harness) collectOwed() (ids []string) {
	h.t.Helper()
	var c struct {
		PostProcess []struct{ ID string } `json:"post_process"`
	}
	if err := json.Unmarshal([]byte(h.mustRun("gc", "--json").stdout), &c); err != nil {
		h.t.Fatal(err)
	}
	for _, run := range c.PostProcess {
		ids = append(ids, run.ID)
	}
	return ids
}

// Whatever a hook does to its copies, the blobs are what they were.
func TestPostProcessTampers(t *testing.T) {
	h := newHarness(t)
	h.hook(`cd "$SCIDEX_OUTPUT_DIR"; chmod -R u+w .; truncate -s 1 file; echo changed >file; rm other; ln -s /etc/passwd other
mkdir -p more/deep; echo x >more/deep/file; chmod 0 more; cat file >&2`)
	r := h.start("--id", h.id("tampers"), "--post-process", "./hook.sh", "--", "sh", "-c", "echo content >file; echo another >other")
	r.expect(t, "complete", "exit", 0)
	if r.PostProcess.Stderr != "changed\n" {
		t.Errorf("the hook could not change its copy: %q", r.PostProcess.Stderr)
	}
	for _, o := range r.Outputs {
		h.checkBlob(o.SHA256, map[string]string{"file": "content\n", "other": "another\n"}[o.Path])
	}
	h.mustRun("catalog", "check", "--digests")
	h.expectNoViews()
}

// A hook is called after a failed run only on request, and does not change its end.
func TestPostProcessAlways(t *testing.T) {
	h := newHarness(t)
	h.hook(`cat >result; exit 9`)
	run := []string{"--post-process", "./hook.sh", "--", "sh", "-c", "echo content >file; exit 3"}
	r := h.start(append([]string{"--id", h.id("not")}, run...)...)
	r.expect(t, "failed", "exit", 3)
	if r.PostProcess != nil || len(matches(h.path("result"))) > 0 {
		t.Errorf("a hook was called: %+v", r.PostProcess)
	}
	id := h.id("always")
	r = h.start(append([]string{"--id", id, "--post-process-on", "always"}, run...)...)
	r.expect(t, "failed", "exit", 3)
	r.expectHook(t, 9, "", false)
	h.show(id).expectHook(t, 9, "", false)
	given, err := parseResult([]byte(readFile(t, h.path("result")) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	given.expect(t, "failed", "exit", 3)
	h.mustRun("post-process", id, "--post-process", "true")
	h.show(id).expect(t, "failed", "exit", 3)
	h.show(id).expectHook(t, 0, "", false)
}

// A command that cannot be called is refused before anything changes; environment and config file can also give the command.
func TestPostProcessRequest(t *testing.T) {
	h := newHarness(t)
	h.write("plain", "text", 0o644)
	for command, words := range map[string][]string{
		"no-such-command x": {"--post-process", "no-such-command", "PATH"},
		"./missing":         {"missing", "does not exist; give a file that can be executed"},
		"./plain":           {"plain", "executed"},
		"cat | sh":          {"no shell"},
		"'":                 {"rules of a shell"},
	} {
		h.mustRefuse([]string{"run", "--post-process", command, "--", "true"}, words...)
	}
	h.mustRefuse([]string{"run", "--post-process", "true", "--post-process-on", "failed", "--", "true"}, "complete or always")
	h.mustRefuse([]string{"run", "--post-process", "true", "--post-process-timeout", "soon", "--", "true"}, "--post-process-timeout")
	h.write("m.yaml", "command: [\"true\"]\npost_process: rm\n", 0o644)
	h.mustRefuse([]string{"run", "-f", "m.yaml"}, "post_process")
	if left := matches(filepath.Join(h.root, "*")); len(left) > 0 {
		t.Errorf("a refused request has made %q", left)
	}
	h.hook(`echo called >>calls`)
	config := h.write("config/scidex.yaml", "post_process: ../hook.sh\n", 0o644)
	h.start("--config", config, "--id", h.id("config"), "--", "true").expectHook(t, 0, "", false)
	h.setenv("SCIDEX_OCI_POST_PROCESS", "./hook.sh")
	h.start("--id", h.id("env"), "--", "true").expectHook(t, 0, "", false)
	if calls := readFile(t, h.path("calls")); calls != "called\ncalled\n" {
		t.Errorf("calls: %q", calls)
	}
}

// brainHook runs the example with its post-process command, and the command once more by itself.
func (h *harness) brainHook() (id string) {
	h.t.Helper()
	example, err := filepath.Abs("../../examples/brain-networks")
	if err != nil {
		h.t.Fatal(err)
	}
	id = h.id("brain")
	hook := filepath.Join(example, "post_process.py")
	r := h.start("--id", id, "-f", filepath.Join(example, "manifest.yaml"), "--post-process", hook)
	r.expect(h.t, "complete", "exit", 0)
	r.expectHook(h.t, 0, "", false)
	h.mustRun("post-process", id, "--again", "--post-process", hook)
	return id
}

// brainFacts are what the table must say of the example's data, however often it was written.
const brainFacts = `SELECT count(*) || ' ' || count(DISTINCT network_a) || ' ' || sum(CASE WHEN network_a = network_b AND r > 0.88151 AND r < 0.88152 THEN 1 ELSE 0 END)
	FROM brain_network_correlation WHERE attempt = 1 AND analysis_id = '`

const wantBrainFacts = "289 17 1"

func TestPostProcessExampleInPostgres(t *testing.T) {
	h, db := inPostgres(t)
	drop := func() {
		db.query(t, "", "SET client_min_messages = error; DROP TABLE IF EXISTS brain_network_correlation")
	}
	drop()
	t.Cleanup(drop)
	h.setenv("PATH", filepath.Dir(db.Psql)+":"+os.Getenv("PATH"))
	id := h.brainHook()
	if got := db.query(t, "", brainFacts+id+"'"); got != wantBrainFacts {
		t.Errorf("the table has %q, want %q", got, wantBrainFacts)
	}
	shown := h.mustRun("show", "--json", id).stdout
	if strings.Contains(shown, dbPassword) {
		t.Error("the result shows the password")
	}
}

func TestPostProcessExampleInSQLite(t *testing.T) {
	h := newHarness(t)
	path := h.path("brain.db")
	h.setenv("BRAIN_DB", "sqlite://"+path)
	id := h.brainHook()
	cmd := h.command("python3", "-c", "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchone()[0])", path, brainFacts+id+"'")
	if got := strings.TrimSpace(h.finish(cmd).stdout); got != wantBrainFacts {
		t.Errorf("the table has %q, want %q", got, wantBrainFacts)
	}
}
