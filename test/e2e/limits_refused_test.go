package e2e

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestRefusalNamesWhatIsMissing: if a limit cannot be enforced, a run is refused with one sentence that says what is
// missing and what to do about it, for any limit, and nothing of it is made.
func TestRefusalNamesWhatIsMissing(t *testing.T) {
	if theHost.cgroup {
		t.Log("not covered here: all limits can be held; the tests as ordinary users do, and in the virtual machine those without a controller")
		return
	}
	words := flags("cgroup v1, where only root can set limits", "run as root")
	if unified() {
		words = flags("systemd's user manager is not running", "`loginctl enable-linger")
	}
	h := newHarness(t)
	h.setenv("SCIDEX_OCI_LIMITS", "enforce")
	for _, limit := range []string{"--memory=64MiB", "--pids=20", "--cpus=0.5", "--timeout=1m"} {
		id := h.newID()
		h.mustRefuse([]string{"run", "--id", id, limit, "--", "true"}, slices.Concat(words, flags("`scidex-oci config set limits best-effort`", "`--limits best-effort`"))...)
		r := h.start("--id", id, limit, "--", "true")
		r.expect(t, "error", "request", 125)
		for _, word := range words {
			if !strings.Contains(r.Message, word) {
				t.Errorf("no %q in %q", word, r.Message)
			}
		}
		h.expectNothingOf(t, r)
		if out := h.do("show", id); out.code == 0 {
			t.Errorf("a refused run is in the catalog: %s", out.stdout)
		}
	}
}

// TestWithoutController removes a controller of cgroup v1, as in a container without it: a run with a limit that needs
// it is refused, the error names it, and its advice works.
func TestWithoutController(t *testing.T) {
	if !theHost.root || unified() {
		t.Log("not covered here: it takes root on cgroup v1; the tests as root on such a machine do, and on v2 those in the virtual machine")
		return
	}
	const without = `umount "/sys/fs/cgroup/$1" && shift && eval "$1" && shift && exec "$@"`
	for controller, word := range map[string]string{
		"memory": "the memory controller of cgroup v1 is missing",
		"pids":   "the pids controller of cgroup v1 is missing",
		"cpu":    "--cpus 0.5 cannot be enforced: the cpu controller",
	} {
		t.Run(controller, func(t *testing.T) {
			h := newHarness(t)
			run := func(first string, args ...string) outcome {
				return h.finish(h.command("unshare", slices.Concat(flags("--mount", "sh", "-c", without, "sh", controller, first, theHost.bin),
					runWith(h.newID(), args))...))
			}
			refused := run(":", "--cpus=0.5", "--", "true")
			r, err := parseResult([]byte(refused.stdout))
			if err != nil || refused.code != 125 || r.Reason != "request" || !strings.Contains(r.Message, word) {
				t.Fatalf("exit code %d, %v: %s", refused.code, err, r.Message)
			}
			command := regexp.MustCompile("`([^`]+)`").FindStringSubmatch(r.Message)
			if command == nil {
				t.Fatalf("no command in %q", r.Message)
			}
			if again := run(command[1], "--cpus=0.5", "--", "true"); again.code != 0 {
				t.Errorf("after %q: exit code %d\n%s%s", command[1], again.code, again.stdout, again.stderr)
			}
			if controller != "cpu" {
				return
			}
			// A default limit is dropped, and the result says so.
			if r, err = parseResult([]byte(run(":", "--", "true").stdout)); err != nil {
				t.Fatal(err)
			}
			r.expect(t, "complete", "exit", 0)
			if got := r.enforcement("cpus"); got != (enforcement{"cpus", "1", "", "none"}) || len(r.Warnings) == 0 {
				t.Errorf("%+v, warnings %q", got, r.Warnings)
			}
		})
	}
}
