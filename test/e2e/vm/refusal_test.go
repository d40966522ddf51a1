package vm

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// commands are what a refusal gives between backquotes, of which there must be n at least.
func (r result) commands(t *testing.T, n int) []string {
	t.Helper()
	var found []string
	for _, match := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(r.Message, -1) {
		found = append(found, match[1])
	}
	if len(found) < n {
		t.Fatalf("less than %d commands in %q", n, r.Message)
	}
	return found
}

// refused runs an analysis that must be refused with one sentence that holds the words.
func (p person) refused(args []string, words ...string) result {
	p.t.Helper()
	r := p.run(args...)
	r.expect(p.t, "error", "request")
	if r.ExitCode != 125 || strings.Contains(r.Message, "\n") {
		p.t.Errorf("%s: exit code %d, %q", p.name, r.ExitCode, r.Message)
	}
	for _, word := range words {
		if !strings.Contains(r.Message, word) {
			p.t.Errorf("%s: no %q in %q", p.name, word, r.Message)
		}
	}
	return r
}

var nothing = []string{"--", "true"}

// TestLinger types what the refusal of bob's run says.
func TestLinger(t *testing.T) {
	root, bob := as(t, "root"), as(t, "bob")
	r := bob.refused(nothing, "systemd's user manager is not running", "let root run `loginctl enable-linger", "`scidex-oci config set limits best-effort`")
	best := bob.run(append([]string{"--limits=best-effort"}, nothing...)...)
	best.expect(t, "complete", "exit")
	if best.by("memory") != "rlimit" || best.by("cpus") != "none" || len(best.Warnings) == 0 {
		t.Errorf("best effort: %+v, warnings %q", best.Enforced, best.Warnings)
	}
	root.do("sh", "-c", r.commands(t, 1)[0])
	until(t, "bob's manager starts", func() bool { _, err := os.Stat(filepath.Join(bob.runtimeDir(), "bus")); return err == nil })
	r = bob.run(nothing...)
	r.expect(t, "complete", "exit")
	if r.by("memory") != "cgroup" {
		t.Errorf("memory is held by %s", r.by("memory"))
	}
	root.do("loginctl", "disable-linger", "bob")
	until(t, "bob's manager ends", func() bool { _, err := os.Stat(bob.runtimeDir()); return err != nil })
	bob.refused(nothing, "not running")
}

// TestWithoutCPU removes the cpu controller of all users: a default limit is dropped, a requested one is refused, and
// the advice of the refusal works.
func TestWithoutCPU(t *testing.T) {
	root, ada := as(t, "root"), as(t, "ada")
	dir := "/etc/systemd/system/user@.service.d"
	t.Cleanup(func() {
		_ = os.RemoveAll(dir)
		root.do("systemctl", "daemon-reload")
		restartManager(ada)
	})
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/a.conf", []byte("[Service]\nDelegate=no\nDelegate=memory pids\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	root.do("systemctl", "daemon-reload")
	restartManager(ada)

	r := ada.run(nothing...)
	r.expect(t, "complete", "exit")
	if r.by("memory") != "cgroup" || r.by("pids") != "cgroup" || r.by("cpus") != "none" {
		t.Errorf("without the controller: %+v", r.Enforced)
	}
	if !strings.Contains(strings.Join(r.Warnings, " "), "CPU") {
		t.Errorf("no warning in %q", r.Warnings)
	}
	asked := append([]string{"--cpus=1"}, nothing...)
	typed := ada.refused(asked, "--cpus 1 cannot be enforced").commands(t, 2)
	root.do("sh", "-c", typed[0])
	ada.do("sh", "-c", typed[1])
	r = ada.run(asked...)
	r.expect(t, "complete", "exit")
	if r.by("cpus") != "cgroup" {
		t.Errorf("after %q: %+v", typed, r.Enforced)
	}
}

func restartManager(p person) {
	p.t.Helper()
	root := as(p.t, "root")
	root.do("systemctl", "restart", "user@1000")
	until(p.t, "the user manager starts", func() bool { _, err := os.Stat(filepath.Join(p.runtimeDir(), "bus")); return err == nil })
}

// TestSilentManager stops a user manager: a run is refused and does not hang. A refusal for another reason does not
// wait, and nothing is left when the manager goes on.
func TestSilentManager(t *testing.T) {
	root, ada := as(t, "root"), as(t, "ada")
	pid := strings.TrimSpace(root.do("systemctl", "show", "--property=MainPID", "--value", "user@1000"))
	root.do("kill", "-STOP", pid)
	t.Cleanup(func() { root.do("kill", "-CONT", pid); expectNoScope(t) })
	ada.refused(nothing, "systemd's user manager did not answer within 30s", "--limits best-effort")
	ada.refused(append([]string{"--memory=1"}, nothing...), "at least 4MiB")
	ada.run(append([]string{"--limits=best-effort"}, nothing...)...).expect(t, "complete", "exit")
}

// TestOtherProcessIDs runs in a PID namespace in which the launcher's process ids are those of other processes of the host.
func TestOtherProcessIDs(t *testing.T) {
	root := as(t, "root")
	r := root.decode(root.command("unshare", "--pid", "--fork", "--mount-proc", bin, "run", "--json", "--", "true").Output())
	r.expect(t, "error", "request")
	if !strings.Contains(r.Message, "it is in another PID namespace; start the container that this is in with writable control groups") {
		t.Errorf("%q", r.Message)
	}
	if left := dirs("scidex-oci-*"); len(left) > 0 {
		t.Errorf("made %q", left)
	}
}
