package e2e

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestAllowBinds: a config file restricts which paths may be bound, by the target of the path.
func TestAllowBinds(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"allowed/sub/file", "allowed-not/file", "outside/file"} {
		h.write(name, "text", 0o644)
	}
	h.write("allowed/s.sh", "echo allowed", 0o644)
	h.write("outside/s.sh", "echo outside", 0o644)
	for name, target := range map[string]string{"allowed/out": "../outside", "in": "allowed/sub", "prefix": "allowed"} {
		if err := os.Symlink(target, h.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	config := h.write("etc/config.yaml", "allow_binds: [../prefix, /nowhere/at/all]\n", 0o644)
	run := func(args ...string) []string {
		return append([]string{"--config", config, "run", "--id", h.newID()}, args...)
	}
	for _, flag := range bindFlags {
		for _, path := range []string{"allowed", "allowed/sub", "in"} {
			h.mustRun(run(flag, path, "--", "true")...)
		}
		for _, path := range []string{"outside", "allowed-not", "allowed/out", "."} {
			h.mustRefuse(run(flag, path+map[bool]string{true: ":/inputs/it"}[flag == "--input"], "--", "true"),
				flag, "lies outside", config, "/nowhere/at/all", "choose another")
		}
	}
	h.mustRun(run("--script", "allowed/s.sh")...)
	h.mustRefuse(run("--script", "outside/s.sh"), "--script", "lies outside", config)
	h.mustRun(run("--input", "allowed/sub/file", "--", "true")...)
	h.mustRefuse(run("--input", "outside/file", "--", "true"), "--input", "lies outside")
	// Directories that are bound by default are restricted alike.
	h.mustRun(run("--", "true")...)
	h.write("data/file", "text", 0o644)
	h.mustRefuse(run("--", "true"), "--data", h.path("data"), "lies outside", "give none")
	h.mustRun(run("--data", "none", "--", "true")...)
	// The kept copy of an allowed script is not in an allowed directory either; it belongs to scidex-oci.
	r := h.start("--id", h.newID(), "--data", "none", "--script", "allowed/s.sh")
	h.mustRun("--config", config, "run", "--again", r.ID)
}

// TestEmptyAllowBinds: an empty list allows nothing; only a config file can have a list.
func TestEmptyAllowBinds(t *testing.T) {
	h := newHarness(t)
	h.write("good/file", "text", 0o644)
	config := h.write("config.yaml", "allow_binds: []\n", 0o644)
	h.mustRefuse([]string{"--config", config, "run", "--data", "good", "--", "true"}, "--data", config, "allows nothing", "give none")
	h.start("--id", h.newID(), "--", "true").expect(t, "complete", "exit", 0)
	h.mustRefuse([]string{"run", "--allow-binds", "/", "--", "true"}, "unknown flag")
	h.write("m.yaml", "command: [true]\nallow_binds: [/]\n", 0o644)
	h.mustRefuse([]string{"run", "-f", "m.yaml"}, "m.yaml:2:", "allow_binds")
	h.setenv("SCIDEX_OCI_ALLOW_BINDS", "/nowhere")
	h.start("--id", h.newID(), "--data", "good", "--", "true").expect(t, "complete", "exit", 0)
}

// TestOperatorAllowsBinds: what /etc/scidex-oci/config.yaml allows holds also for those who have a config file of their
// own. The machine's own /etc does not change: the test has a copy, in a mount namespace.
func TestOperatorAllowsBinds(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount; the tests as root do, and those of cmd/scidex-oci")
		return
	}
	h := newHarness(t)
	h.write("allowed/file", "text", 0o644)
	h.write("mine/file", "text", 0o644)
	copyAll := `mkdir "$1" && for file in /etc/*; do case $file in */e2e-*) ;; *) cp -a "$file" "$1" || exit ;; esac; done` // files of other tests come and go
	if out, err := exec.Command("sh", "-c", copyAll, "sh", h.path("etc")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	operator := "etc/scidex-oci/config.yaml"
	h.write(operator, "pids: 50\nallow_binds: ["+h.path("allowed")+"]\n", 0o644)
	mine := h.write("mine.yaml", "pids: 60\nallow_binds: ["+h.path("mine")+", "+h.path("allowed")+"]\n", 0o644)
	do := func(args ...string) outcome {
		script := `mount --bind etc /etc && exec "$@"`
		return h.finish(h.command("unshare", append([]string{"--mount", "sh", "-c", script, "sh", theHost.bin}, args...)...))
	}
	for name, c := range map[string]struct {
		args  []string
		words []string
	}{
		"his alone":      {flags("run", "-q", "--data", "allowed", "--", "true"), nil},
		"outside of his": {flags("run", "-q", "--data", "mine", "--", "true"), flags("/etc/scidex-oci/config.yaml", "lies outside")},
		"both":           {flags("--config", mine, "run", "-q", "--data", "allowed", "--", "true"), nil},
		"mine, not his":  {flags("--config", mine, "run", "-q", "--data", "mine", "--", "true"), flags("/etc/scidex-oci/config.yaml", "lies outside")},
		"no other":       {flags("--config", "/dev/null", "run", "-q", "--data", "mine", "--", "true"), flags("/etc/scidex-oci/config.yaml")},
	} {
		out := do(append(c.args[:len(c.args)-2:len(c.args)-2], "--id", h.newID(), "--", "true")...)
		if c.words == nil && out.code != 0 {
			t.Errorf("%s: exit code %d: %s", name, out.code, out.stderr)
		} else if c.words != nil {
			if out.code != 125 {
				t.Errorf("%s: exit code %d", name, out.code)
			}
			checkSentence(t, out.stderr, c.words...)
		}
	}
	// A file that cannot be understood may say anything.
	h.write(operator, "alow_binds: [/]\n", 0o644)
	out := do("--config", mine, "run", "--data", "allowed", "--", "true")
	if out.code != 125 || !strings.Contains(out.stderr, "alow_binds") {
		t.Errorf("malformed: exit code %d: %s", out.code, out.stderr)
	}
}
