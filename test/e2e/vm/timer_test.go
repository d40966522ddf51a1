package vm

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTimers installs the units of docs/systemd. The timer starts gc, which removes what a killed run left, and does
// not touch a living run.
func TestTimers(t *testing.T) {
	for _, scope := range []string{"system", "user"} {
		install(t, scope)
	}
	if err := os.Symlink(bin, "/usr/local/bin/scidex-oci"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove("/usr/local/bin/scidex-oci") })
	for name, c := range map[string]struct {
		whose string   // runs they are
		by    []string // the command to the manager
		unit  string
	}{
		"the host's, for root": {"root", []string{"systemctl"}, "scidex-oci-gc@root"},
		"the host's, for ada":  {"ada", []string{"systemctl"}, "scidex-oci-gc@ada"},
		"ada's own":            {"ada", as(t, "ada").manager("systemctl"), "scidex-oci-gc"},
	} {
		t.Run(name, func(t *testing.T) {
			whose, who := as(t, c.whose), as(t, "root")
			if len(c.by) > 1 {
				who = whose
			}
			manager := func(words ...string) string { return who.do(append(c.by[:len(c.by):len(c.by)], words...)...) }
			alive, dead := whose.start(nil), whose.start(nil)
			if err := dead.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = dead.cmd.Wait() // killed
			left := "/tmp/scidex-analysis-" + dead.id
			if _, err := os.Lstat(left); err != nil {
				t.Fatalf("a killed run has left nothing to remove: %v", err)
			}
			manager("daemon-reload")
			manager("enable", "--now", c.unit+".timer")
			defer manager("disable", "--now", c.unit+".timer")
			until(t, "the timer has gc remove "+left, func() bool {
				_, err := os.Lstat(left)
				return errors.Is(err, os.ErrNotExist)
			})
			until(t, "the service ends", func() bool {
				return strings.TrimSpace(manager("show", "--property=ActiveState", "--value", c.unit+".service")) != "activating"
			})
			if got := strings.TrimSpace(manager("show", "--property=Result", "--value", c.unit+".service")); got != "success" {
				t.Errorf("the service's result is %s", got)
			}
			whose.decode(whose.command(bin, "show", "--json", dead.id).Output()).expect(t, "lost", "supervisor_lost")
			alive.end().expect(t, "complete", "exit")
		})
	}
	expectNoScope(t)
}

// install installs the units of a kind of manager, with a timer that does not wait.
func install(t *testing.T, scope string) {
	t.Helper()
	to := filepath.Join("/etc/systemd", scope)
	files, err := filepath.Glob(filepath.Join("../../docs/systemd", scope, "scidex-oci-gc*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("units %q, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		place(t, filepath.Join(to, filepath.Base(file)), string(text), err)
		if strings.HasSuffix(file, ".timer") {
			soon := "[Timer]\nOnActiveSec=1s\nRandomizedDelaySec=0\nAccuracySec=1s\n"
			place(t, filepath.Join(to, filepath.Base(file)+".d", "soon.conf"), soon, nil)
		}
	}
}

// place makes a file until the test ends.
func place(t *testing.T, path, text string, err error) {
	t.Helper()
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o755)
	}
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Remove(path) })
}
