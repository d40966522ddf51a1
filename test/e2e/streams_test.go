package e2e

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
)

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// allBytes writes every byte value many times to standard output and, backwards, to standard error.
const allBytes = `
import sys
row = bytes(range(256)) * 1000
sys.stdout.buffer.write(row)
sys.stderr.buffer.write(row[::-1])
`

func TestStreamsAreUntouched(t *testing.T) {
	h := newHarness(t)
	want := bytes.Repeat(func() (row []byte) {
		for i := range 256 {
			row = append(row, byte(i))
		}
		return row
	}(), 1000)
	backwards := make([]byte, len(want))
	for i, b := range want {
		backwards[len(want)-1-i] = b
	}
	h.write("a.py", allBytes, 0o644)
	out := h.mustRun("run", "--id", h.id("s"), "--quiet", "--script", "a.py")
	if out.stdout != string(want) || out.stderr != string(backwards) {
		t.Errorf("got %d and %d bytes that are not those written", len(out.stdout), len(out.stderr))
	}
	// With the table, standard output still has only the analysis' own.
	if out := h.mustRun("run", "--id", h.id("table"), "--script", "a.py"); out.stdout != string(want) {
		t.Errorf("got %d bytes that are not those written", len(out.stdout))
	}
	logs := h.mustRun("logs", h.id("s"))
	if logs.stdout != string(want) || logs.stderr != string(backwards) {
		t.Errorf("logs gives %d and %d bytes that are not those written", len(logs.stdout), len(logs.stderr))
	}
	if one := h.mustRun("logs", "--stderr", h.id("s")); one.stderr != "" || one.stdout != string(backwards) {
		t.Errorf("logs --stderr gives %d and %d bytes", len(one.stdout), len(one.stderr))
	}
	r := h.show(h.id("s"))
	if r.Logs.Stdout != (log{int64(len(want)), false, digest(want)}) || r.Logs.Stderr != (log{int64(len(want)), false, digest(backwards)}) {
		t.Errorf("logs %+v", r.Logs)
	}
}

// With --json standard output has only the object, whatever the analysis prints.
func TestJSONIsAlone(t *testing.T) {
	h := newHarness(t)
	out := h.mustRun(append(flags("run", "--json", "--id", h.id("j")), shell(`echo '{"v":1}'; echo two >&2`)...)...)
	if _, err := parseResult([]byte(out.stdout)); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.stderr, "{\"v\":1}\n") || !strings.Contains(out.stderr, "two\n") {
		t.Errorf("the analysis' output is not on standard error: %q", out.stderr)
	}
}

// A flood is passed on whole; the log keeps as much as --log-size.
func TestFlood(t *testing.T) {
	const size, kept = 100_000_000, 1 << 20
	h := newHarness(t)
	cmd := h.command(theHost.bin, append(flags("run", "--quiet", "--id", h.id("f"), "--log-size=1MiB"),
		shell(fmt.Sprintf("yes 0123456789 | head -c %d; echo the end >&2", size))...)...)
	passed := sha256.New()
	count := &counter{to: passed}
	cmd.Stdout = count
	if out := h.finish(cmd); out.code != 0 || out.stderr != "the end\n" {
		t.Fatalf("exit code %d, %q", out.code, out.stderr)
	}
	flood := bytes.Repeat([]byte("0123456789\n"), size/11+1)[:size]
	if count.n != size || hex.EncodeToString(passed.Sum(nil)) != digest(flood) {
		t.Errorf("%d bytes passed, not those that were written", count.n)
	}
	r := h.show(h.id("f"))
	if want := (log{size, true, digest(flood[:kept])}); r.Logs.Stdout != want {
		t.Errorf("%+v, want %+v", r.Logs.Stdout, want)
	}
	logs := h.mustRun("logs", "--stdout", h.id("f"))
	if logs.stdout != string(flood[:kept]) || !strings.Contains(logs.stderr, "truncated") {
		t.Errorf("logs gives %d bytes and says %q", len(logs.stdout), logs.stderr)
	}
}

type counter struct {
	to io.Writer
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.to.Write(p)
}

// A reader that goes away, as head does, does not end the run.
func TestReaderGoesAway(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, append(flags("run", "--quiet", "--id", h.id("r")), shell("yes | head -c 50000000; echo done >done.txt")...)...)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "y\n" {
		t.Errorf("%q, %v", line, err)
	}
	stdout.Close()
	if err := cmd.Wait(); err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, stderr.String())
	}
	r := h.show(h.id("r"))
	r.expect(t, "complete", "exit", 0)
	outputsAre("done.txt")(t, r)
	if r.Logs.Stdout.Bytes != 50_000_000 {
		t.Errorf("%+v", r.Logs.Stdout)
	}
}

// Closed standard streams of the command do no harm: above all no file of scidex-oci gets their number.
func TestClosedStreams(t *testing.T) {
	for _, closed := range []string{">&-", "2>&-", "<&-", ">&- 2>&- <&-"} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			script := `"$0" run --id "$1" -- sh -c 'echo out; echo err >&2; echo x >x.txt' ` + closed
			out := h.finish(h.command("sh", "-c", script, theHost.bin, h.id("c")))
			if out.code != 0 {
				t.Fatalf("exit code %d, %s", out.code, out.stderr)
			}
			r := h.show(h.id("c"))
			r.expect(t, "complete", "exit", 0)
			outputsAre("x.txt")(t, r)
			if logs := h.mustRun("logs", h.id("c")); logs.stdout != "out\n" || logs.stderr != "err\n" {
				t.Errorf("logs %+v", logs)
			}
		})
	}
}

// TestNoReader: a command whose standard output nothing reads ends by SIGPIPE, or as if it did, silently.
func TestNoReader(t *testing.T) {
	h := newHarness(t)
	id := h.id("s")
	h.start(append(flags("--id", id, "--label", "a=b"), shell("printf 'a\\n1\\n' >t.csv; echo out; echo err >&2")...)...)
	for _, args := range [][]string{
		{"table", "--label", "a=b", "t.csv"},
		{"table", "--label", "a=b", "--format", "json", "t.csv"},
		{"outputs", "cat", id, "t.csv"},
		{"outputs", "ls", id},
		{"outputs", "ls", "--json", id},
		{"outputs", "find", "t.csv"},
		{"ls"},
		{"ls", "--json"},
		{"show", id},
		{"show", "--json", id},
		{"logs", "--stdout", id},
		{"logs", "--stderr", id},
		{"stats"},
		{"report", id, "-o", "-"},
		{"catalog", "check"},
		{"doctor", "--json"},
		{"config"},
		{"help"},
	} {
		reads, writes, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := reads.Close(); err != nil {
			t.Fatal(err)
		}
		cmd := h.command(h.program, args...)
		cmd.Stdout = writes
		out := h.end(cmd)
		writes.Close()
		status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ended := ok && (status.Signal() == syscall.SIGPIPE || out.code == 141); !ended || out.stderr != "" {
			t.Errorf("%q: %v, %q", args, cmd.ProcessState, out.stderr)
		}
	}
}

// TestQuiet: if something else than the analysis has ended a run, one line says so.
func TestQuiet(t *testing.T) {
	h := newHarness(t)
	for _, tt := range []struct {
		flags []string
		shell string
		want  string
	}{
		{nil, "exit 3", ""},
		{nil, "true", ""},
		{[]string{"--timeout", "1s"}, "sleep 60", "scidex-oci: timed out after 1s\n"},
		{nil, "kill -KILL $$", "scidex-oci: the analysis was killed by SIGKILL\n"},
		{[]string{"--output", "none"}, "true", "scidex-oci: nothing in /work matches the declared output \"none\"\n"},
		{[]string{"--json", "--timeout", "1s"}, "sleep 60", ""}, // the object has it
	} {
		args := slices.Concat([]string{"run", "--quiet", "--limits", "best-effort"}, tt.flags, []string{"--", "sh", "-c", tt.shell})
		if got := h.do(args...).stderr; got != tt.want {
			t.Errorf("%q: %q, want %q", args, got, tt.want)
		}
	}
}
