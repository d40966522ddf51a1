package e2e

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// hangTimeout is how long anything may take before it is taken to hang. It is far beyond what any step needs on a slow
// and busy machine: no test fails because a machine is slow.
const hangTimeout = 3 * time.Minute

// harness is a caller with a home, a directory to work in and a root of its own. At the end of its test
// nothing of its runs may be left on the host.
type harness struct {
	t    *testing.T
	dir  string   // where commands are started
	root string   // --root
	run  string   // begins every id of this harness
	env  []string // of every command

	program string // which commands execute

	engines *engines // of start; nil: it starts commands
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	top := t.TempDir()
	h := &harness{t: t, dir: filepath.Join(top, "here"), root: filepath.Join(top, "root"), run: newPrefix(), env: theHost.environ(top), program: theHost.bin}
	for _, dir := range []string{h.dir, filepath.Join(top, "home")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, left := range leftovers(h.run, h.root) {
			t.Errorf("left behind: %s", left)
		}
	})
	h.engines = newEngines(t)
	return h
}

// in is the same harness for a subtest.
func (h *harness) in(t *testing.T) *harness {
	same := *h
	same.t = t
	return &same
}

// id makes an id of this harness.
func (h *harness) id(name string) string { return h.run + "-" + name }

// setenv sets a variable for all further commands.
func (h *harness) setenv(name, value string) { h.env = append(h.env, name+"="+value) }

// path is a name in the caller's directory.
func (h *harness) path(name string) string { return filepath.Join(h.dir, name) }

// write makes a file, and the directories above it, in the caller's directory.
func (h *harness) write(name, content string, mode os.FileMode) string {
	h.t.Helper()
	path := h.path(name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode), os.Chmod(path, mode)); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// outcome is how a command ended.
type outcome struct {
	code           int
	stdout, stderr string
}

// command makes a command that is killed when hangTimeout ends.
func (h *harness) command(name string, args ...string) *exec.Cmd {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), hangTimeout)
	h.t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = h.dir, h.env
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// finish runs a command, which must not be killed.
func (h *harness) finish(cmd *exec.Cmd) outcome {
	h.t.Helper()
	out := h.end(cmd)
	if out.code < 0 {
		h.t.Fatalf("%q: %v\n%s", cmd.Args, cmd.ProcessState, out.stderr)
	}
	return out
}

// end runs a command. The exit code of one that was killed is -1.
func (h *harness) end(cmd *exec.Cmd) outcome {
	h.t.Helper()
	var stdout, stderr bytes.Buffer
	if cmd.Stdout == nil {
		cmd.Stdout = &stdout
	}
	if cmd.Stderr == nil {
		cmd.Stderr = &stderr
	}
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		h.t.Fatalf("%q: %v\n%s", cmd.Args, err, stderr.String())
	}
	return outcome{code: cmd.ProcessState.ExitCode(), stdout: stdout.String(), stderr: stderr.String()}
}

// do runs scidex-oci.
func (h *harness) do(args ...string) outcome {
	h.t.Helper()
	return h.finish(h.command(h.program, args...))
}

// mustRun runs scidex-oci, which must succeed.
func (h *harness) mustRun(args ...string) outcome {
	h.t.Helper()
	out := h.do(args...)
	if out.code != 0 {
		h.t.Fatalf("scidex-oci %q: exit code %d\n%s%s", args, out.code, out.stdout, out.stderr)
	}
	return out
}

// mustRefuse runs scidex-oci, which must end with 125 and one sentence on standard error that holds every one of
// the words.
func (h *harness) mustRefuse(args []string, words ...string) outcome {
	h.t.Helper()
	out := h.do(args...)
	if out.code != 125 {
		h.t.Fatalf("scidex-oci %q: exit code %d, want 125\n%s%s", args, out.code, out.stdout, out.stderr)
	}
	checkSentence(h.t, out.stderr, words...)
	return out
}

// checkSentence checks an error message: one line of scidex-oci's, without anything else, with the words.
func checkSentence(t *testing.T, stderr string, words ...string) {
	t.Helper()
	if strings.Count(stderr, "\n") != 1 || !strings.HasPrefix(stderr, "scidex-oci: ") {
		t.Errorf("not one sentence of ours: %q", stderr)
	}
	for _, noise := range []string{"failed to", "goroutine", "panic", "%!"} {
		if strings.Contains(stderr, noise) {
			t.Errorf("%q in %q", noise, stderr)
		}
	}
	for _, word := range words {
		if !strings.Contains(stderr, word) {
			t.Errorf("no %q in %q", word, stderr)
		}
	}
}

// start runs `run --json` with the arguments, checks the result against itself and against the exit code of the
// process, and returns it. Within TestServeRequests an engine runs it.
func (h *harness) start(args ...string) result {
	h.t.Helper()
	if h.engines != nil {
		if r, taken := h.engines.start(h, args); taken {
			return r
		}
	}
	return h.resultOf(h.command(theHost.bin, append([]string{"run", "--json"}, args...)...))
}

// resultOf is start for a command that ends in `run --json`.
func (h *harness) resultOf(cmd *exec.Cmd) result {
	h.t.Helper()
	out := h.finish(cmd)
	r, err := parseResult([]byte(out.stdout))
	if err != nil {
		h.t.Fatalf("%q: %v\n%s", cmd.Args, err, out.stderr)
	}
	if out.code != r.ExitCode {
		h.t.Errorf("%q: the process ended with %d, the result says %d", cmd.Args, out.code, r.ExitCode)
	}
	return r
}

// expect checks how a run ended.
func (r result) expect(t *testing.T, state, reason string, code int) {
	t.Helper()
	if r.State != state || r.Reason != reason || r.ExitCode != code {
		t.Errorf("%s, %s, %d (%s); want %s, %s, %d", r.State, r.Reason, r.ExitCode, r.Message, state, reason, code)
	}
}

// show reads a run back.
func (h *harness) show(name string) result {
	h.t.Helper()
	r, err := parseResult([]byte(h.mustRun("show", "--json", name).stdout))
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}
