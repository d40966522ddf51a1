package vm

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// examined are the fields of doctor's report that the tests use.
type examined struct {
	Works    bool
	Summary  struct{ Run, Limits, IDs string }
	Findings []probed
}

type probed struct{ Code, Status, Seen, Means, Cure, Command, After string }

func (r examined) of(code string) probed {
	for _, f := range r.Findings {
		if f.Code == code {
			return f
		}
	}
	return probed{}
}

func (r examined) expect(t *testing.T, status string, codes ...string) {
	t.Helper()
	for _, code := range codes {
		if f := r.of(code); f.Status != status {
			t.Errorf("%s: %+v, want %s", code, f, status)
		}
	}
}

// examine runs doctor by a prefix of commands; its exit code must agree with its report.
func (p person) examine(works bool, prefix ...string) (r examined) {
	p.t.Helper()
	argv := append(prefix, "env", "HOME="+p.home, bin, "doctor", "--json")
	out, err := p.command(argv...).Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	if err := json.Unmarshal(out, &r); err != nil {
		p.t.Fatalf("%s: %v: %s", p.name, err, out)
	}
	if r.Works != works || works != (exit == nil) || exit != nil && exit.ExitCode() != 1 {
		p.t.Fatalf("%s: works %v, %v, want %v\n%s", p.name, r.Works, exit, works, out)
	}
	return r
}

// TestDoctor: for every way of a run to cgroup v2, doctor reports who enforces the limits.
func TestDoctor(t *testing.T) {
	for name, c := range map[string]struct {
		person, rung, ids string
		prefix            []string
	}{
		"ada, from cron":         {"ada", "systemd", "range", nil},
		"ada, a delegated scope": {"ada", "delegated", "range", []string{"systemd-run", "--quiet", "--scope", "--property=Delegate=yes"}},
		"root":                   {"root", "systemd", "range", nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := as(t, c.person)
			prefix := c.prefix
			if len(prefix) > 0 {
				prefix = p.manager(prefix...)
			}
			r := p.examine(true, prefix...)
			road := "cgroup.v2." + c.rung + "."
			r.expect(t, "ok", "cgroup.place", road+"memory", road+"pids", road+"cpu", "mount.overlay", "seccomp.notify", "run.true", "run.python")
			r.expect(t, "skipped", "cgroup.v1.memory", "catalog.postgresql")
			if r.Summary.Limits != c.rung || r.Summary.IDs != c.ids {
				t.Errorf("%+v", r.Summary)
			}
		})
	}
	expectNoScope(t)
}

// TestDoctorCures types the commands that doctor gives if something is missing, and the refused run works.
func TestDoctorCures(t *testing.T) {
	root, ada, bob := as(t, "root"), as(t, "ada"), as(t, "bob")
	t.Run("no user manager", func(t *testing.T) {
		place := bob.examine(false).of("cgroup.place")
		r := bob.refused(nothing)
		if place.Status != "fail" || r.Message != "limits cannot be enforced: "+place.Seen+"; "+place.Cure {
			t.Errorf("%+v; run says %q", place, r.Message)
		}
		if !strings.HasPrefix(place.Command, "loginctl enable-linger") {
			t.Fatalf("the command is %q", place.Command)
		}
		root.do("sh", "-c", place.Command)
		until(t, "bob's manager starts", func() bool { _, err := os.Stat(bob.runtimeDir() + "/bus"); return err == nil })
		if r := bob.examine(true); r.Summary.IDs != "self" || r.Summary.Limits != "systemd" {
			t.Errorf("%+v", r.Summary)
		}
		bob.run(nothing...).expect(t, "complete", "exit")
		root.do("loginctl", "disable-linger", "bob")
		until(t, "bob's manager ends", func() bool { _, err := os.Stat(bob.runtimeDir()); return err != nil })
	})
	t.Run("no newuidmap", func(t *testing.T) {
		root.do("mv", "/usr/bin/newuidmap", "/usr/bin/newuidmap.away")
		t.Cleanup(func() { root.do("mv", "/usr/bin/newuidmap.away", "/usr/bin/newuidmap") })
		f := ada.examine(false).of("idmap.subids")
		if r := ada.refused(nothing); f.Status != "fail" || f.Seen != r.Message || !strings.Contains(f.Command, "apt-get install uidmap") {
			t.Errorf("%+v; run says %q", f, r.Message)
		}
	})
	t.Run("Debian's switch", func(t *testing.T) {
		root.do("sysctl", "-w", "kernel.unprivileged_userns_clone=0")
		t.Cleanup(func() { root.do("sysctl", "-w", "kernel.unprivileged_userns_clone=1") })
		r := ada.examine(false)
		r.expect(t, "fail", "userns.unshare", "sysctl.unprivileged_userns_clone", "run.true")
		r.expect(t, "skipped", "mount.proc")
		root.examine(false).expect(t, "fail", "userns.nested", "sysctl.unprivileged_userns_clone", "run.true")
		root.do("sh", "-c", r.of("userns.unshare").Command)
		ada.examine(true)
	})
	expectNoScope(t)
}
