package e2e

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// awaitLine starts a command, reads the first line of its standard output, and returns that.
func (h *harness) awaitLine(cmd *exec.Cmd, want string) io.Closer {
	h.t.Helper()
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		cmd.Stderr = os.Stderr
		err = cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); line != want+"\n" {
		h.t.Fatalf("%q: %q, %v", cmd.Args, line, err)
	}
	return stdout
}

// TestDockerStopped: however an engine stops a step, the command ends with docker's exit code, and what the run left is put back.
func TestDockerStopped(t *testing.T) {
	front := func(s syscall.Signal) func(*harness, string, *exec.Cmd) error {
		return func(_ *harness, _ string, cmd *exec.Cmd) error { return cmd.Process.Signal(s) }
	}
	verb := func(v string) func(*harness, string, *exec.Cmd) error {
		return func(h *harness, name string, _ *exec.Cmd) error {
			if out := h.docker(v, name); out.code != 0 {
				h.t.Errorf("docker %s: %+v", v, out)
			}
			return nil
		}
	}
	for name, c := range map[string]struct {
		stop func(*harness, string, *exec.Cmd) error
		code int
	}{
		"SIGTERM": {front(syscall.SIGTERM), 143}, "SIGINT": {front(syscall.SIGINT), 130}, "SIGHUP": {front(syscall.SIGHUP), 129},
		"docker stop": {verb("stop"), 143}, "docker kill": {verb("kill"), 143},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.write("out/before", "", 0o644)
			id := h.newID()
			cmd := h.dockerRun(id, "rm before; echo x >after; echo ready; exec sleep 1000", "--rm", "--cidfile="+h.path("cid"))
			h.awaitLine(cmd, "ready")
			if err := c.stop(h, id, cmd); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			h.expectOut("after")
			h.show(id).expect(t, "canceled", "stopped", c.code)
		})
	}
}

// TestDockerKilled: if scidex-oci-docker is killed, the output directory is as it was, and the next command removes the run's.
func TestDockerKilled(t *testing.T) {
	h := newHarness(t)
	h.write("out/before", "", 0o644)
	id := h.newID()
	cmd := h.dockerRun(id, "rm before; echo x >after; echo ready; exec sleep 1000")
	h.awaitLine(cmd, "ready")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	h.expectOut("before")
	if out := h.docker("run", "--rm", "--name="+h.newID(), tool, "true"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	if r := h.show(id); r.State != "lost" {
		t.Errorf("%s: %s", r.State, r.Message)
	}
	h.expectOut("before")
}

// TestDockerExitCodes: they are docker's, and scidex-oci-docker prints the message that the shell did not.
func TestDockerExitCodes(t *testing.T) {
	h := newHarness(t)
	for line, want := range map[string]struct {
		code int
		said string
	}{
		"true": {}, "sh -c exit\t1": {code: 1}, "sh -c exit\t125": {code: 125}, "sh -c exit\t126": {code: 126}, "sh -c exit\t127": {code: 127},
		"sh -c kill\t-9\t$$": {137, "killed by SIGKILL"}, "sh -c kill\t-15\t$$": {143, "killed by SIGTERM"},
		"no-such-program": {127, `command "no-such-program" is not in the container`}, "/etc/hostname": {126, "/etc/hostname"},
	} {
		if err := os.RemoveAll(h.path("out")); err != nil {
			t.Fatal(err)
		}
		h.write("out/file", "", 0o644)
		args := []string{"run", "--name=" + h.newID(), "-v", h.path("out") + ":/job", "-w", "/job", tool}
		for _, word := range strings.Split(line, " ") {
			args = append(args, strings.ReplaceAll(word, "\t", " "))
		}
		out := h.docker(args...)
		if out.code != want.code || !strings.Contains(out.stderr, want.said) || want.said == "" && out.stderr != "" {
			t.Errorf("%s: %+v, want %+v", line, out, want)
		}
		h.expectOut("file")
	}
}

// TestDockerNames: an id file that exists or cannot be made, or a used name, is refused, and nothing changes.
func TestDockerNames(t *testing.T) {
	h := newHarness(t)
	h.write("out/a", "", 0o644)
	used := h.newID()
	if out := h.finish(h.dockerRun(used, "echo x >b")); out.code != 0 {
		t.Fatalf("%+v", out)
	}
	refused := func(name, word string, flags ...string) {
		t.Helper()
		out := h.finish(h.dockerRun(name, "rm a; echo x >c", flags...))
		if out.code != 125 {
			t.Errorf("%q: %+v", flags, out)
		}
		checkSentence(t, out.stderr, word)
		h.expectOut("a b")
	}
	refused(used, "id "+used+" was used before", "--cidfile="+h.path("cid"))
	refused(h.newID(), "exists already; name another file", "--cidfile="+h.write("there", "x", 0o644))
	refused(h.newID(), "does not exist; make it first", "--cidfile="+h.path("none/cid"))
	refused(h.newID(), "\"/proc/cid\" cannot be made", "--cidfile=/proc/cid")
	refused("a b", `id "a b" is not allowed`)
	refused("../../x", `id "../../x" is not allowed`)
	if data, err := os.ReadFile(h.path("there")); string(data) != "x" {
		t.Errorf("the id file has %q, %v", data, err)
	}
	if _, err := os.Stat(h.path("cid")); err == nil {
		t.Error("a refused run has an id file")
	}

	live := h.dockerRun(h.newID(), "echo ready; read -r line; echo x >d")
	stdin, err := live.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	h.awaitLine(live, "ready")
	refused(strings.TrimPrefix(live.Args[3], "--name="), "is in use")
	_ = stdin.Close()
	if err := live.Wait(); err != nil {
		t.Error(err)
	}
	h.expectOut("a b d")
}

// TestDockerStreams: a standard input that is closed early or has no end, and a reader that goes away, leave a run with a state.
func TestDockerStreams(t *testing.T) {
	h := newHarness(t)
	if err := os.Mkdir(h.path("out"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := func(name, script string, stdin io.Reader) outcome {
		cmd := h.dockerRun(name, script)
		cmd.Stdin = stdin
		return h.finish(cmd)
	}
	if out := run(h.newID(), "head -c 3; echo x >a", zeros{}); out.code != 0 || out.stdout != "\x00\x00\x00" {
		t.Errorf("it reads a part: %d, %q", out.code, out.stdout)
	}
	if out := run(h.newID(), "cat; echo x >b", strings.NewReader("all\n")); out.code != 0 || out.stdout != "all\n" {
		t.Errorf("it reads all: %+v", out)
	}
	endless := h.newID()
	if out := run(endless, "cat >/dev/null; echo x >c", zeros{}); out.code != 125 || !strings.Contains(out.stderr, "64 MiB") {
		t.Errorf("it reads on: %d, %s", out.code, out.stderr)
	}
	if r := h.show(endless); r.State == "running" {
		t.Errorf("%s: %s", r.State, r.Message)
	}

	away := h.newID()
	cmd := h.dockerRun(away, "echo first; read -r go; seq 100000; echo x >d")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := h.awaitLine(cmd, "first")
	h.mustSucceed(stdout.Close(), stdin.Close())
	_ = cmd.Wait()
	h.show(away).expect(t, "complete", "exit", 0)
	h.expectOut("a b d")
	if runs := h.mustRun("ls", "--quiet", "--state=running").stdout; runs != "" {
		t.Errorf("running: %q", runs)
	}
}
