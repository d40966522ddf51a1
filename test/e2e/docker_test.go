package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// tool is an image that the config file of a test maps to the host's programs.
const (
	tool    = "engine/tool:1"
	toolMap = "images: {'engine/tool:1': host}\n"
)

// docker runs scidex-oci-docker.
func (h *harness) docker(args ...string) outcome {
	h.t.Helper()
	return h.finish(h.dockerCommand(args...))
}

func (h *harness) dockerCommand(args ...string) *exec.Cmd {
	h.t.Helper()
	h.write("config.yaml", toolMap, 0o644)
	cmd := h.command(filepath.Join(filepath.Dir(theHost.bin), "scidex-oci-docker"), args...)
	cmd.Env = append(cmd.Env, "SCIDEX_OCI_CONFIG="+h.path("config.yaml"))
	return cmd
}

// dockerRun runs a shell script in a container with an output directory, "out" here and /job inside.
func (h *harness) dockerRun(name, script string, flags ...string) *exec.Cmd {
	h.t.Helper()
	line := append([]string{"run", "-i", "--name=" + name, "--volume=" + h.path("out") + ":/job", "--workdir=/job"}, flags...)
	return h.dockerCommand(append(line, tool, "sh", "-c", script)...)
}

// expectOut checks the names in the output directory.
func (h *harness) expectOut(want string) {
	h.t.Helper()
	if got := strings.Join(below(h.t, h.path("out")), " "); got != want {
		h.t.Errorf("the output directory has %q, not %q", got, want)
	}
}

// TestDocker: a run with the options of cwltool leaves the analysis' files in the output directory, and returns its exit code.
func TestDocker(t *testing.T) {
	h := newHarness(t)
	for name, content := range map[string]string{"out/changed": "before", "out/removed": "", "in/data": "input\n"} {
		h.write(name, content, 0o644)
	}
	tmp := h.path("tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	out := h.docker("run", "-i", "--mount=type=bind,source="+h.path("out")+",target=/fresh", "--mount=type=bind,source="+tmp+",target=/tmp",
		"--mount=type=bind,source="+h.path("in")+",target=/var/lib/cwl/in,readonly", "--mount=type=bind,source="+h.path("in/data")+",target=/fresh/staged,readonly",
		"--workdir=/fresh", "--rm", "--env=HOME=/fresh", "--cidfile="+h.path("cid"), "--name="+h.id("d"), "engine/tool:1", "/bin/sh", "-c",
		`pwd; cat staged /var/lib/cwl/in/data; rm removed; echo after >changed; mkdir -p new/empty; ln -s /etc/passwd leak; : >/tmp/x
echo no >/var/lib/cwl/in/data || tail -n +3 /proc/net/dev | cut -d: -f1 >net; exit 7`)
	if out.code != 7 || out.stdout != "/fresh\ninput\ninput\n" || !strings.Contains(out.stderr, `"leak" is not put back`) {
		t.Errorf("%+v", out)
	}
	for name, want := range map[string]string{"out/changed": "after\n", "out/net": "    lo\n", "out/staged": "input\n", "in/data": "input\n", "cid": h.id("d")} {
		if data, err := os.ReadFile(h.path(name)); err != nil || string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if got := strings.Join(below(t, h.path("out")), " "); got != "changed net new/ new/empty/ staged" {
		t.Error(got)
	}
	if len(below(t, tmp)) != 0 {
		t.Error("the run wrote to the host's directory for /tmp")
	}
}

// TestDockerNotFound: an image without the step's program is named as the reason, once, and the output directory stays as it is.
func TestDockerNotFound(t *testing.T) {
	h := newHarness(t)
	h.write("out/a", "before", 0o644)
	out := h.docker("run", "--volume="+h.path("out")+":/job", "--workdir=/job", "engine/tool:1", "no-such-program")
	if out.code != 127 || strings.Count(out.stderr, `command "no-such-program" is not in the container`) != 1 || !strings.Contains(out.stderr, "--runtime DIR") {
		t.Errorf("%+v", out)
	}
	if data, err := os.ReadFile(h.path("out/a")); err != nil || string(data) != "before" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestDockerChangedInput: a step that changed an input in its output directory fails, and what it left is named. A step
// that requests to write to its input is not started.
func TestDockerChangedInput(t *testing.T) {
	h := newHarness(t)
	in := h.write("in/data", "before\n", 0o644)
	h.write("out/a", "", 0o644)
	out := h.finish(h.dockerRun(h.newID(), "echo after >>data; echo x >b", "--volume="+in+":/job/data"))
	if out.code != 125 || !strings.Contains(out.stderr, `changed the input "/job/data"`) || !strings.Contains(out.stderr, "scidex-analysis-") {
		t.Errorf("%+v", out)
	}
	h.expectOut("a data")
	runs := h.mustRun("ls", "--quiet").stdout
	asked := h.finish(h.dockerRun(h.newID(), "true", "--mount=type=bind,source="+in+",target=/job/data"))
	if asked.code != 125 {
		t.Errorf("%+v", asked)
	}
	checkSentence(t, asked.stderr, `"/job/data" is to be written`)
	if now := h.mustRun("ls", "--quiet").stdout; now != runs {
		t.Errorf("runs were %q, now %q", runs, now)
	}
	if got := readFile(t, in); got != "before\n" {
		t.Errorf("the input has %q", got)
	}
	h.mustRun("rm", strings.TrimSpace(runs))
}

// TestDockerRefused: an unsupported option is refused and the output directory does not change.
func TestDockerRefused(t *testing.T) {
	h := newHarness(t)
	h.write("out/a", "", 0o644)
	for line, want := range map[string]string{
		"run --privileged engine/tool:1 true":                     "--privileged is not supported",
		"run --net=host engine/tool:1 true":                       `takes none here, not "host"`,
		"run -v OUT:/job:rw engine/unknown true":                  `no image "engine/unknown"`,
		"run -v OUT:/job -v OUT:/b:rw -w /job engine/tool:1 true": `the bind to "/b" is to be written`,
		"build .": "docker build is not supported; the verbs are image, images, inspect, kill, pull, run, stop, version",
	} {
		out := h.docker(strings.Fields(strings.ReplaceAll(line, "OUT", h.path("out")))...)
		if out.code != 125 || !strings.Contains(out.stderr, want) || strings.Count(out.stderr, "\n") != 1 {
			t.Errorf("%s: %+v", line, out)
		}
	}
	if out := h.docker("pull", "engine/tool:1"); out.code != 0 {
		t.Errorf("%+v", out)
	}
	if out := h.docker("images"); !strings.Contains(out.stdout, "\nengine/tool 1 -\n") {
		t.Errorf("%+v", out)
	}
	if runs := h.mustRun("ls", "--quiet").stdout; runs != "" {
		t.Errorf("runs %q were started", runs)
	}
}
