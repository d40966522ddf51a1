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
)

// replayed is what `replay --json` prints, as docs/schema/replay.json promises it.
type replayed struct {
	V         int    `json:"v"`
	ID        string `json:"id"`
	Attempt   int    `json:"attempt"`
	Identical bool   `json:"identical"`
	Message   string `json:"message"`
	Changed   []struct{ Flag, Source, Message string }
	Unknown   []struct{ Flag, Source, Message string }
	Replays   []struct {
		ID          string `json:"id"`
		State       string `json:"state"`
		ExitCode    int    `json:"exit_code"`
		Identical   bool   `json:"identical"`
		Kept        bool   `json:"kept"`
		Message     string `json:"message"`
		Differences []struct{ Path, Hint, Detail string }
		Total       int `json:"differences_total"`
	} `json:"replays"`
}

func (h *harness) replay(code int, args ...string) (r replayed) {
	h.t.Helper()
	out := h.do(append([]string{"replay", "--json"}, args...)...)
	if out.code != code {
		h.t.Fatalf("replay %q: exit code %d, want %d\n%s%s", args, out.code, code, out.stdout, out.stderr)
	}
	if err := decode("replay.json", []byte(out.stdout), &r); err != nil {
		h.t.Fatalf("replay %q: %v\n%s", args, err, out.stdout)
	}
	return r
}

// TestReplayExamples: each of the examples makes the same bytes again, and its replays leave nothing.
func TestReplayExamples(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	times := 3
	if inSoak() {
		times = 20
	}
	for _, name := range []string{"brain-networks", "penguins", "fmri"} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			h.start("--id", id, "-f", filepath.Join(examples, name, "manifest.yaml")).expect(t, "complete", "exit", 0)
			got := h.replay(0, id, "--times", strconv.Itoa(times))
			if !got.Identical || len(got.Replays) != times || got.ID != id || got.Attempt != 1 || len(got.Changed) > 0 {
				t.Errorf("%+v", got)
			}
			if left := h.ids(); !slices.Equal(left, []string{id}) {
				t.Errorf("in the catalog: %q", left)
			}
			if out := h.mustRun("replay", id); !strings.Contains(out.stdout, "identical, 1 of 1") {
				t.Errorf("said %q", out.stdout)
			}
		})
	}
}

// TestReplayScientific: so do those that draw, on the image scientific.
func TestReplayScientific(t *testing.T) {
	h := newHarness(t)
	h.recipeImage("scientific")
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	times := 1
	if inSoak() {
		times = 20
	}
	for _, name := range []string{"brain-networks", "penguins", "fmri"} {
		id := h.newID()
		h.start("--id", id, "-f", filepath.Join(examples, name, "scientific.yaml")).expect(t, "complete", "exit", 0)
		if got := h.replay(0, id, "--times", strconv.Itoa(times)); !got.Identical || len(got.Replays) != times || len(got.Changed)+len(got.Unknown) > 0 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestAgainWithAnotherScript: --again runs the kept script, or another script if one is named.
func TestAgainWithAnotherScript(t *testing.T) {
	h := newHarness(t)
	h.write("one.sh", "echo one >out\n", 0o644)
	h.write("two.sh", "echo two >out\n", 0o644)
	id := h.newID()
	made := func(args ...string) string {
		t.Helper()
		r := h.start(args...)
		r.expect(t, "complete", "exit", 0)
		return h.blob(r.output("out").SHA256)
	}
	if got := made("--id", id, "--script", "one.sh"); got != "one\n" {
		t.Errorf("at first: %q", got)
	}
	h.write("one.sh", "echo changed >out\n", 0o644)
	if got := made("--again", id); got != "one\n" {
		t.Errorf("again: %q", got)
	}
	if got := made("--again", id, "--script", "two.sh"); got != "two\n" {
		t.Errorf("again with another script: %q", got)
	}
}

// --again runs the script that was recorded. If the file has changed since, it says so with the command that runs the file.
func TestAgainAfterAChange(t *testing.T) {
	h := newHarness(t)
	id, script := h.newID(), h.write("fit.sh", "echo old >out\n", 0o644)
	h.start("--id", id, "--script", script, "a b").expect(t, "complete", "exit", 0)
	if same := h.start("--again", id); len(same.Warnings) > 0 {
		t.Errorf("of the same script: %q", same.Warnings)
	}
	h.write("fit.sh", "echo \"$1\" >out\n", 0o644)
	again := h.start("--again", id)
	way := fmt.Sprintf("scidex-oci run --again %s --script %s -- 'a b'", id, script)
	if got := h.blob(again.output("out").SHA256); got != "old\n" || len(again.Warnings) != 1 ||
		!strings.Contains(again.Warnings[0], "recorded with attempt 2, and "+script+" has changed since") || !strings.Contains(again.Warnings[0], way) {
		t.Errorf("%q, %q", got, again.Warnings)
	}
	now := h.start("--again", id, "--script", script, "--", "a b")
	if got := h.blob(now.output("out").SHA256); got != "a b\n" || len(now.Warnings) > 0 {
		t.Errorf("%q, %q", got, now.Warnings)
	}
}

// TestAgainOnImage: a replay and --reuse compare the image's digest, and not its name.
func TestAgainOnImage(t *testing.T) {
	h := newHarness(t)
	h.recipeImage("python")
	script := flags("--data", "none", "--docs", "none", "--", "python3", "-c", "open('out', 'w').write('made')")
	reusing := func(image string) result {
		t.Helper()
		r := h.start(append(flags("--reuse", "--id", h.newID(), "--rootfs", image), script...)...)
		r.expect(t, "complete", "exit", 0)
		return r
	}
	first := reusing("python")
	if again := reusing("python"); again.ReusedFrom != first.ID+"@1" {
		t.Errorf("on the same image: reused from %q", again.ReusedFrom)
	}
	h.mustRun("image", "import", filepath.Join(os.Getenv("SCIDEX_OCI_TEST_IMAGES"), "python.oci.tar"), "--name", "same")
	if again := reusing("same"); again.ReusedFrom != first.ID+"@1" {
		t.Errorf("on the same image of another name: reused from %q", again.ReusedFrom)
	}
	h.recipeImage("scientific")
	if other := reusing("scientific"); other.ReusedFrom != "" {
		t.Errorf("on another image: reused from %q", other.ReusedFrom)
	}
	if got := h.replay(0, first.ID); !got.Identical || len(got.Unknown) > 0 {
		t.Errorf("%+v", got)
	}
	if err := os.Mkdir(h.path("rootfs"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.importImage("python", h.path("rootfs"), imageConfig{})
	got := h.replay(1, first.ID)
	if len(got.Replays) > 0 || len(got.Changed) != 1 || got.Changed[0].Flag != "--rootfs" || got.Changed[0].Source != "python" {
		t.Errorf("where the name is another image's: %+v", got)
	}
	h.mustRun("image", "rm", "python")
	if got = h.replay(1, first.ID); len(got.Replays) > 0 || len(got.Changed) != 1 || got.Changed[0].Flag != "--rootfs" {
		t.Errorf("where the name is nobody's: %+v", got)
	}
}

// TestReplayExplainsDifferences: outputs that differ each time are found, with the hint that fits.
func TestReplayExplainsDifferences(t *testing.T) {
	for hint, script := range map[string]string{
		"time_stamp":  "import datetime\nopen('out', 'w').write('made at %s\\n' % datetime.datetime.now().isoformat())\n",
		"random_seed": "import random\nopen('out', 'w').write('estimate %r\\n' % random.random())\n",
		// Whichever thread is first adds first; twenty times, since two orders may have one sum.
		"thread_count": `import random, threading, time
def total():
    done = []
    def work(i):
        time.sleep(random.random() / 100)
        done.append(1 / (3 + 7 * i))
    threads = [threading.Thread(target=work, args=(i,)) for i in range(30)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    all = 0.0
    for one in done:
        all += one
    return all
open('out', 'w').write(''.join('%r\n' % total() for _ in range(20)))
`,
	} {
		t.Run(hint, func(t *testing.T) {
			h := newHarness(t)
			h.write("script.py", script, 0o644)
			id := h.newID()
			h.start("--id", id, "--script", "script.py").expect(t, "complete", "exit", 0)
			got := h.replay(1, id)
			if got.Identical || len(got.Replays) != 1 {
				t.Fatalf("%+v", got)
			}
			one := got.Replays[0]
			if one.Total != 1 || one.Differences[0].Path != "out" || one.Differences[0].Hint != hint || one.Differences[0].Detail == "" {
				t.Errorf("differences %+v", one.Differences)
			}
			if !one.Kept || !slices.Contains(h.ids(), one.ID) {
				t.Errorf("the replay that differs is not there to be looked at: %q", h.ids())
			}
			h.mustRun("show", one.ID)
			h.replay(1, id, "--keep-replays", "never")
			if left := h.ids(); len(left) != 2 {
				t.Errorf("in the catalog: %q", left)
			}
		})
	}
}

// TestReplayInputs: missing or changed inputs are named, and nothing is run.
func TestReplayInputs(t *testing.T) {
	for _, mode := range []string{"listing", "full"} {
		t.Run(mode, func(t *testing.T) {
			h := newHarness(t)
			id := h.newID()
			h.start(append(flags("--id", id, "--digest-inputs", mode), h.asInputs()...)...).expect(t, "complete", "exit", 0)
			h.write("count.sh", "echo another script >all\n", 0o644) // its own is kept
			if got := h.replay(0, id); !got.Identical {
				t.Fatalf("%+v", got)
			}
			h.write("tree/two.csv", "23\n", 0o644)
			if err := os.Remove(h.path("table.csv")); err != nil {
				t.Fatal(err)
			}
			got := h.replay(1, id)
			if len(got.Changed) != 2 || got.Changed[0].Flag != "--data" || got.Changed[1].Flag != "--input" ||
				got.Changed[1].Message != "it is missing" || len(got.Replays) > 0 {
				t.Errorf("%+v", got)
			}
			if out := h.do("replay", id); out.code != 1 || !strings.Contains(out.stdout, "nothing was run") || !strings.Contains(out.stdout, "table.csv") {
				t.Errorf("code %d, said %q", out.code, out.stdout)
			}
			if left := h.ids(); len(left) != 1 {
				t.Errorf("in the catalog: %q", left)
			}
		})
	}
}

// TestReplayRefuses runs without an end to compare with, and wrong arguments.
func TestReplayRefuses(t *testing.T) {
	h := newHarness(t)
	h.mustRefuse([]string{"replay", "nobody"}, "no run")
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", "echo begun >&2; exec sleep 600")
	l.await("begun")
	l.signal(syscall.SIGTERM)
	l.wait().expect(t, "canceled", "stopped", 143)
	h.mustRefuse([]string{"replay", id}, "is canceled")
	h.mustRefuse([]string{"replay", id, "--times", "0"}, "--times")
	h.mustRefuse([]string{"replay", id, "--keep-replays", "some"}, "never, failed or always")
	h.mustRefuse([]string{"replay"}, "give ID")

	failing := h.newID()
	h.start("--id", failing, "--", "sh", "-c", "echo 1 >out; exit 3").expect(t, "failed", "exit", 3)
	if got := h.replay(0, failing); !got.Identical {
		t.Errorf("a run that fails the same way twice: %+v", got)
	}
}

// TestDeterministic: compares what the analysis and the kernel report with a run that is not deterministic.
func TestDeterministic(t *testing.T) {
	h := newHarness(t)
	const look = `cat /proc/self/personality; grep -E 'stack|heap' /proc/self/maps | cut -d' ' -f1
echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $MKL_NUM_THREADS $NUMEXPR_NUM_THREADS $PYTHONHASHSEED $SCIDEX_RNG_SEED $TZ $LANG`
	run := func(args ...string) (result, string) {
		t.Helper()
		r := h.start(append(append(flags("--id", h.newID(), "--cpus", "2"), args...), "--", "sh", "-c", look)...)
		r.expect(t, "complete", "exit", 0)
		return r, h.stdoutOf(r)
	}
	r, first := run("--deterministic")
	_, second := run("--deterministic")
	if first != second || !strings.HasPrefix(first, "00040000\n") || !strings.Contains(first, "\n1 1 1 1 0 0 UTC C.UTF-8\n") {
		t.Errorf("first:\n%s\nsecond:\n%s", first, second)
	}
	if r.Sandbox.Addresses != "off" {
		t.Errorf("the result says %q", r.Sandbox.Addresses)
	}
	r, plain := run()
	_, another := run("--deterministic=false")
	if plain == another || !strings.HasPrefix(plain, "00000000\n") || r.Sandbox.Addresses != "" {
		t.Errorf("without: %q, %q and %q", r.Sandbox.Addresses, plain, another)
	}
	if _, own := run("--deterministic", "--env", "SCIDEX_RNG_SEED=7"); !strings.Contains(own, " 0 7 UTC") {
		t.Errorf("a seed of one's own: %s", own)
	}
}

// TestReuse: the same action is answered from the catalog, and another one is run.
func TestReuse(t *testing.T) {
	h := newHarness(t)
	inputs := append(h.asInputs(), "--rootfs", h.tree("rootfs", alpine(nil))) // small, and nobody changes it
	run := func(args ...string) result {
		t.Helper()
		r := h.start(append(append(flags("--reuse"), args...), inputs...)...)
		r.expect(t, "complete", "exit", 0)
		return r
	}
	first := run("--id", h.newID())
	if first.ReusedFrom != "" || first.ActionID == nil {
		t.Fatalf("the first: reused from %q, action %v", first.ReusedFrom, first.ActionID)
	}
	again := run("--id", h.newID(), "--label", "x=y", "--timeout", "5m", "--export", "out")
	if again.ReusedFrom != first.ID+"@1" || again.ID != first.ID || *again.ActionID != *first.ActionID {
		t.Errorf("again: reused from %q, id %q", again.ReusedFrom, again.ID)
	}
	if got := readFile(t, h.path("out/all")); got != "1\n22\na,b\n" {
		t.Errorf("exported %q", got)
	}
	if out := h.mustRun(append(flags("run", "--reuse"), inputs...)...); !strings.Contains(out.stderr, "reused: "+first.ID+"@1") {
		t.Errorf("said %q", out.stderr)
	}
	if left := h.ids(); len(left) != 1 {
		t.Errorf("in the catalog: %q", left)
	}
	for name, more := range map[string][]string{
		"environment": {"--env", "A=1"}, "memory": {"--memory", "1GiB"}, "deterministic": {"--deterministic"}, "excluded": {"--exclude", "x"},
	} {
		if r := run(append(flags("--id", h.newID()), more...)...); r.ReusedFrom != "" || *r.ActionID == *first.ActionID {
			t.Errorf("another %s was answered from %q", name, r.ReusedFrom)
		}
	}
	h.write("tree/two.csv", "23\n", 0o644)
	if r := run("--id", h.newID()); r.ReusedFrom != "" {
		t.Error("other data were answered")
	}
	h.write("tree/two.csv", "22\n", 0o644)
	if r := run("--id", h.newID()); r.ReusedFrom != first.ID+"@1" {
		t.Errorf("the same bytes at another time: reused from %q", r.ReusedFrom)
	}
	h.write("count.sh", "cat /data/two.csv >all\n", 0o644)
	if r := run("--id", h.newID()); r.ReusedFrom != "" {
		t.Error("another script was answered")
	}
}

// TestReusePrints: the earlier output is printed again, on the same streams.
func TestReusePrints(t *testing.T) {
	h := newHarness(t)
	run := flags("run", "--reuse", "--log-size", "64KiB", "--rootfs", h.tree("rootfs", alpine(nil)), "--", "sh", "-c", `printf 'a\0b'; echo to-err >&2; head -c 100000 /dev/zero`)
	first := h.mustRun(run...)
	again := h.mustRun(run...)
	if !strings.Contains(again.stderr, "reused: ") {
		t.Fatalf("nothing was reused: %q", again.stderr)
	}
	if len(again.stdout) != 64<<10 || !strings.HasPrefix(again.stdout, "a\x00b") || !strings.HasPrefix(first.stdout, again.stdout) {
		t.Errorf("printed %d bytes, %q first", len(again.stdout), again.stdout[:min(3, len(again.stdout))])
	}
	for _, want := range []string{"to-err\n", "of stdout of the reused run only a part was kept: it wrote 97.66KiB"} {
		if !strings.Contains(again.stderr, want) {
			t.Errorf("no %q in %q", want, again.stderr)
		}
	}
	logs := h.mustRun("logs", "@last", "--stderr").stdout
	if logs != "to-err\n" {
		t.Fatalf("the log of standard error is %q", logs)
	}
	if json := h.mustRun(append(flags("run", "--json"), run[1:]...)...); !strings.HasPrefix(json.stdout, `{"v":1`) || !strings.Contains(json.stderr, "a\x00b") {
		t.Errorf("with --json: %q", json.stdout)
	}
}

// TestReuseNever: --reuse takes no failed run, none whose outputs are gone, and none that may not be the same.
func TestReuseNever(t *testing.T) {
	h := newHarness(t)
	h.setenv("TOKEN", "s3cret")
	rootfs := h.tree("rootfs", alpine(nil))
	never := func(code int, args ...string) {
		t.Helper()
		for range 2 {
			if r := h.start(append(flags("--reuse", "--id", h.newID(), "--rootfs", rootfs), args...)...); r.ReusedFrom != "" || r.ExitCode != code {
				t.Errorf("%q: reused from %q, exit code %d", args, r.ReusedFrom, r.ExitCode)
			}
		}
	}
	never(3, "--", "sh", "-c", "echo 1 >out; exit 3")
	never(0, "--secret", "TOKEN", "--", "sh", "-c", "echo 2 >out")
	first := h.start("--reuse", "--id", h.newID(), "--rootfs", rootfs, "--", "sh", "-c", "echo 3 >out")
	if err := os.Remove(h.blobPath(first.output("out").SHA256)); err != nil {
		t.Fatal(err)
	}
	if r := h.start("--reuse", "--id", h.newID(), "--rootfs", rootfs, "--", "sh", "-c", "echo 3 >out"); r.ReusedFrom != "" || !r.holds("out", "3\n") {
		t.Errorf("an output that is gone: reused from %q", r.ReusedFrom)
	}
	h.gc("--older-than", "0s", "--outputs-only") // their blobs are too young to go
	if r := h.start("--reuse", "--id", h.newID(), "--rootfs", rootfs, "--", "sh", "-c", "echo 3 >out"); r.ReusedFrom != "" {
		t.Errorf("outputs that were given up: reused from %q", r.ReusedFrom)
	}
	h.mustRefuse([]string{"run", "--reuse", "--digest-inputs", "listing", "--", "true"}, "--digest-inputs is listing")
	h.mustRefuse([]string{"run", "--reuse", "--again", first.ID}, "--again contradict")
	h.mustRefuse([]string{"run", "--reuse", "--detach", "--", "true"}, "leave --detach out")
}
