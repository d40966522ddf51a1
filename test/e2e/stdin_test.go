package e2e

import (
	"bytes"
	"io"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// stdinMax is the most that is passed on of a standard input.
const stdinMax = 64 << 20

// blank is a reader of n zero bytes.
func blank(n int64) io.Reader { return io.LimitReader(zeros{}, n) }

// fed runs an analysis with a standard input.
func (h *harness) fed(in io.Reader, args ...string) result {
	h.t.Helper()
	cmd := h.command(theHost.bin, append(flags("run", "--json"), args...)...)
	cmd.Stdin = in
	return h.resultOf(cmd)
}

// expectStdin checks what a run has kept of its standard input.
func (h *harness) expectStdin(r result, want []byte) {
	h.t.Helper()
	switch {
	case len(want) == 0 && r.Stdin == nil:
	case len(want) == 0 || r.Stdin == nil:
		h.t.Errorf("standard input %+v, want %d bytes", r.Stdin, len(want))
	case r.Stdin.Bytes != int64(len(want)) || r.Stdin.SHA256 != digest(want) || h.blob(r.Stdin.SHA256) != string(want):
		h.t.Errorf("standard input %+v, want %d bytes, %s", r.Stdin, len(want), digest(want))
	}
}

// TestStdin: the analysis reads what is piped to the command, and that is kept.
func TestStdin(t *testing.T) {
	h := newHarness(t)
	data := make([]byte, 1<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(data) // it has no error
	t.Run("every byte", func(t *testing.T) {
		h := h.in(t)
		r := h.fed(bytes.NewReader(data), "--", "sh", "-c", "cat >all")
		r.expect(t, "complete", "exit", 0)
		if r.OutputsTotal != 1 || r.Outputs[0].SHA256 != digest(data) {
			t.Errorf("it read %+v, want %s", r.Outputs, digest(data))
		}
		h.expectStdin(r, data)
		h.expectStdin(h.show(r.ID), data)
		if shown := h.mustRun("show", r.ID).stdout; !strings.Contains(shown, "1MiB  sha256:"+digest(data)) {
			t.Errorf("show says %q", shown)
		}
		h.ageBlobs()
		h.gc()
		h.expectStdin(r, data)
	})
	t.Run("nothing is read", func(t *testing.T) {
		h := h.in(t)
		r := h.fed(bytes.NewReader(data), "--", "true")
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, nil)
	})
	t.Run("a part is read", func(t *testing.T) {
		h := h.in(t)
		r := h.fed(blank(4*stdinMax), "--", "dd", "bs=10", "count=1")
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, make([]byte, 10))
	})
	t.Run("by its name", func(t *testing.T) {
		h := h.in(t)
		r := h.fed(strings.NewReader("x"), "--", "sh", "-c", "cat /dev/stdin >all; ! (: >/dev/stdin)")
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, []byte("x"))
	})
	t.Run("none", func(t *testing.T) {
		h := h.in(t)
		r := h.fed(nil, "--", "sh", "-c", "cat >all")
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, nil)
	})
}

// TestStdinOfAFile: the caller can read on after the part that the analysis has read, as without a sandbox.
func TestStdinOfAFile(t *testing.T) {
	h := newHarness(t)
	h.write("list", "one\ntwo\nthree\nfour\n", 0o644)
	file, err := os.Open(h.path("list"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, read := range []string{"one\n", "", "two\n"} {
		r := h.fed(file, "--", "sh", "-c", `[ $1 = 0 ] || dd bs=$1 count=1`, "sh", strconv.Itoa(len(read)))
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, []byte(read))
	}
	if rest, err := io.ReadAll(file); err != nil || string(rest) != "three\nfour\n" {
		t.Errorf("left in the file: %q, %v", rest, err)
	}
}

// TestStdinThatIsIdle: a pipe that is neither written nor closed does not delay the end.
func TestStdinThatIsIdle(t *testing.T) {
	h := newHarness(t)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	defer read.Close()
	r := h.fed(read, "--", "true")
	r.expect(t, "complete", "exit", 0)
	h.expectStdin(r, nil)
	if _, err := write.WriteString("some"); err != nil {
		t.Fatal(err)
	}
	r = h.fed(read, "--", "dd", "bs=4", "count=1")
	r.expect(t, "complete", "exit", 0)
	h.expectStdin(r, []byte("some"))
}

// TestStdinThatIsTooLong ends the run: otherwise the analysis would take a part for the whole.
func TestStdinThatIsTooLong(t *testing.T) {
	h := newHarness(t)
	r := h.fed(blank(stdinMax), "--", "sh", "-c", "wc -c >all")
	r.expect(t, "complete", "exit", 0)
	h.expectStdin(r, make([]byte, stdinMax))
	r = h.fed(blank(stdinMax+1), "--", "sh", "-c", "echo x >x; cat >/dev/null")
	r.expect(t, "error", "request", 125)
	if !strings.Contains(r.Message, "67108864 bytes") || !strings.Contains(r.Message, "--input FILE") {
		t.Errorf("it says %q", r.Message)
	}
	h.show(r.ID).expect(t, "error", "request", 125)
	if r.OutputsTotal > 0 {
		t.Errorf("outputs %+v", r.Outputs)
	}
	if left := leftovers(r.ID, h.root); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// TestStdinIsNotPassedOn to other runs than a single one that its caller waits for.
func TestStdinIsNotPassedOn(t *testing.T) {
	h := newHarness(t)
	typed := func() io.Reader {
		return strings.NewReader(`{"command": ["sh", "-c", "cat >all; wc -c <all"], "outputs": ["all"]}` + "\n")
	}
	h.write("lines.jsonl", `{"id": "`+h.id("batch")+`", "command": ["sh", "-c", "cat >all; wc -c <all"]}`, 0o644)
	for name, args := range map[string][]string{
		"detached": {"run", "--detach", "--id", h.id("detached"), "--", "sh", "-c", "cat >all; wc -c <all"},
		"manifest": {"run", "--quiet", "--id", h.id("manifest"), "-f", "-"},
		"batch":    {"batch", "lines.jsonl"},
	} {
		cmd := h.command(theHost.bin, args...)
		cmd.Stdin = typed()
		if out := h.finish(cmd); out.code != 0 {
			t.Errorf("%s: exit code %d, %s", name, out.code, out.stderr)
			continue
		}
		h.mustRun("show", "--wait", h.id(name))
		r := h.show(h.id(name))
		r.expect(t, "complete", "exit", 0)
		h.expectStdin(r, nil)
		if out := h.mustRun("logs", h.id(name)).stdout; strings.TrimSpace(out) != "0" {
			t.Errorf("%s: it read %q bytes", name, out)
		}
	}
}

// TestStdinOfAReplay: a run that is repeated has the standard input that was recorded, unless it has its own.
func TestStdinOfAReplay(t *testing.T) {
	h := newHarness(t)
	read := flags("--", "sh", "-c", "dd bs=5 count=1; cat >rest")
	first := h.fed(strings.NewReader("firstrest"), append(flags("--id", h.newID()), read...)...)
	first.expect(t, "complete", "exit", 0)
	again := h.start("--again", first.ID)
	again.expect(t, "complete", "exit", 0)
	if again.Attempt != 2 || !reflect.DeepEqual(again.Outputs, first.Outputs) {
		t.Errorf("again, attempt %d: %+v, want %+v", again.Attempt, again.Outputs, first.Outputs)
	}
	h.expectStdin(again, []byte("firstrest"))
	part := h.start("--again", first.ID, "--", "dd", "bs=5", "count=1") // another command keeps all of it too
	h.expectStdin(part, []byte("firstrest"))
	own := h.fed(strings.NewReader("another"), append(flags("--again", first.ID), read...)...)
	h.expectStdin(own, []byte("another"))
	for _, run := range []string{first.ID + "@1", first.ID + "@4"} {
		if out := h.mustRun("replay", run); !strings.Contains(out.stdout, "identical, 1 of 1") {
			t.Errorf("replay %s: %s", run, out.stdout)
		}
	}
}

// TestStdinOfReuse: the standard input is a part of the action.
func TestStdinOfReuse(t *testing.T) {
	h := newHarness(t)
	rootfs := h.tree("rootfs", alpine(nil))
	run := func(in string, args ...string) result {
		t.Helper()
		r := h.fed(strings.NewReader(in), append(flags("--reuse", "--rootfs", rootfs, "--id", h.newID()), args...)...)
		r.expect(t, "complete", "exit", 0)
		return r
	}
	first := run("a", "--", "sh", "-c", ":")
	h.expectStdin(first, []byte("a")) // the input of the request, though it reads nothing
	if r := run("a", "--", "sh", "-c", ":"); r.ReusedFrom != first.ID+"@1" {
		t.Errorf("the same: reused from %q", r.ReusedFrom)
	}
	none := run("", "--", "sh", "-c", ":")
	if other := run("b", "--", "sh", "-c", ":"); none.ReusedFrom != "" || other.ReusedFrom != "" {
		t.Errorf("another: reused from %q, none: from %q", other.ReusedFrom, none.ReusedFrom)
	}
	if r := h.start("--reuse", "--rootfs", rootfs, "--", "sh", "-c", ":"); r.ReusedFrom != none.ID+"@1" {
		t.Errorf("an empty one is not as none: reused from %q", r.ReusedFrom)
	}
	before := len(h.ids())
	r := h.fed(blank(stdinMax+1), "--reuse", "--rootfs", rootfs, "--", "true")
	r.expect(t, "error", "request", 125)
	if len(h.ids()) != before || !strings.Contains(r.Message, "--input FILE") {
		t.Errorf("%q, runs %v", r.Message, h.ids())
	}
}

// TestStdinRecovered kills the launcher when the analysis has ended: gc keeps its standard input as the launcher would have.
func TestStdinRecovered(t *testing.T) {
	h := newHarness(t)
	id, end := h.newID(), h.flag()
	cmd := h.command(theHost.bin, runWith(id, []string{"--input", end.input(), "--", "sh", "-c", "cat >all; echo ready >&2; " + awaited})...)
	cmd.Stdin = strings.NewReader("precious\n")
	l := h.follow(id, cmd)
	l.await("ready")
	release := h.lockCatalog()
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return h.analysisEnded(id) })
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	release()
	expectGone(t, all, id)
	if c := h.gc(); !slices.Equal(c.committed(), []string{id}) {
		t.Errorf("gc committed %v", c.Committed)
	}
	r := h.show(id)
	r.expect(t, "complete", "exit", 0)
	h.expectStdin(r, []byte("precious\n"))
	h.mustRun("catalog", "check", "--digests")
}
