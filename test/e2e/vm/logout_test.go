package vm

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestLogout starts detached runs in sessions that then end. Runs that are said to end with the session do, and others
// go on; so do those that were started as the warning advises.
func TestLogout(t *testing.T) {
	root := as(t, "root")
	const conf = "/etc/systemd/logind.conf.d"
	t.Cleanup(func() { _ = os.RemoveAll(conf); root.do("systemctl", "restart", "systemd-logind") })
	scope := []string{"systemd-run", "--user", "--scope", "--quiet"}
	for _, c := range []struct {
		name, person string
		kill         string // KillUserProcesses
		prefix       []string
		warning      string
		state        string // after the session
	}{
		{"lingers", "ada", "no", nil, "", "running"},
		{"does not linger", "bob", "no", nil, "", "running"}, // what the session has started keeps it, and the manager
		{"does not linger, in a scope", "bob", "no", scope, "loginctl enable-linger bob", "canceled"},
		{"is killed", "ada", "yes", nil, "systemd-run --user --scope", "canceled"},
		{"is spared", "ada", "yes", scope, "", "running"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root, p := as(t, "root"), as(t, c.person)
			root.do("sh", "-c", "mkdir -p "+conf+" && printf '[Login]\\nKillUserProcesses="+c.kill+"\\n' >"+conf+"/a.conf && systemctl restart systemd-logind")
			id := "vm-logout-" + strings.NewReplacer(" ", "-", ",", "").Replace(c.name)
			argv := []string{"systemd-run", "--quiet", "--wait", "--pipe", "--property=User=" + p.name, "--property=PAMName=login"}
			argv = append(append(argv, c.prefix...), "env", "HOME="+p.home, bin, "run", "--detach", "--id", id, "--data=none", "--docs=none", "--", "sleep", "10000")
			var stderr bytes.Buffer
			cmd := root.command(argv...)
			cmd.Stderr = &stderr
			if out, err := cmd.Output(); err != nil || string(out) != id+"\n" {
				t.Fatalf("%v: %s%s", err, out, stderr.String())
			}
			if got := stderr.String(); c.warning == "" && got != "" || !strings.Contains(got, c.warning) {
				t.Errorf("it said %q, want %q", got, c.warning)
			}
			if c.state != "running" {
				p.do(bin, "show", "--wait", id)
			}
			until(t, "the session has ended", func() bool { return !open(root, p.name) })
			if r := p.decode(p.command(bin, "show", "--json", id).Output()); r.State != c.state {
				t.Errorf("it is %s (%s), want %s", r.State, r.Message, c.state)
			}
			if c.state == "running" {
				p.do(bin, "stop", id)
			}
		})
	}
}

// open reports whether somebody is logged in: a session that is over is closing for as long as processes of it live.
func open(root person, name string) bool {
	list, _ := root.command("loginctl", "list-sessions", "--no-legend").Output()
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) < 3 || fields[2] != name {
			continue
		}
		state, _ := root.command("loginctl", "show-session", fields[0], "--property=State", "--value").Output()
		if s := strings.TrimSpace(string(state)); s != "closing" && s != "" { // none: it has just gone
			return true
		}
	}
	return false
}
