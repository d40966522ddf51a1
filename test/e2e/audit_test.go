package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// said are the events of a result as "kind address severity count".
func (r result) said() (events []string) {
	for _, e := range r.Audit {
		events = append(events, fmt.Sprintf("%s %s %s %d", e.Kind, e.Address, e.Severity, e.Count))
	}
	slices.Sort(events)
	return events
}

// TestAudit tries to reach targets that are out of reach: the result and the catalog have an event of each, and of
// nothing that is allowed.
func TestAudit(t *testing.T) {
	h := newHarness(t)
	r := h.analysis("audit.py", nil)
	r.expect(t, "complete", "exit", 0)
	if got := strings.TrimSpace(h.stdoutOf(r)); got != "as expected" {
		t.Error(got)
	}
	want := []string{
		"connect tcp 127.0.0.1:5432 high 2",
		"connect tcp 192.0.2.1:80 medium 1",
		"connect tcp [::1]:5432 high 1",
		"connect udp 192.0.2.1:53 medium 2",
		"connect unix /data/s medium 1",
		"connect unix /run/postgresql/.s.PGSQL.5432 high 1",
		`connect unix @\x1b[2Jhost\xff medium 1`,
		"socket AF_NETLINK low 1",
		"socket AF_VSOCK medium 2",
	}
	if got := r.said(); !slices.Equal(got, want) {
		t.Errorf("events:\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for _, e := range r.Audit {
		if !e.Blocked || e.Allowed || e.At.Before(*r.CreatedAt) || e.At.After(*r.FinishedAt) {
			t.Errorf("event %+v of a run from %v to %v", e, r.CreatedAt, r.FinishedAt)
		}
	}
	if shown := h.show(r.ID); !slices.Equal(shown.said(), want) || shown.AuditTotal != len(want) {
		t.Errorf("show says %q", shown.said())
	}
	table := h.mustRun("show", r.ID).stdout
	if !strings.Contains(table, "tcp 127.0.0.1:5432  2 times") || strings.Contains(table, "\x1b") || strings.Contains(table, "AF_NETLINK") {
		t.Errorf("the table says\n%s", table)
	}
}

// TestAuditOff: only the events are missing.
func TestAuditOff(t *testing.T) {
	h := newHarness(t)
	r := h.analysis("audit.py", []string{"--audit", "off"})
	r.expect(t, "complete", "exit", 0)
	if got := strings.TrimSpace(h.stdoutOf(r)); got != "as expected" {
		t.Error(got)
	}
	if r.Sandbox.Audit != "off" || len(r.Audit) > 0 {
		t.Errorf("audit %q, events %q", r.Sandbox.Audit, r.said())
	}
	h.mustRefuse([]string{"run", "--audit", "maybe", "--", "true"}, "--audit", `"maybe"`, "on or off")
}

// TestAuditOfLimits: a limit that was reached and a call of a foreign architecture are events too.
func TestAuditOfLimits(t *testing.T) {
	h := newHarness(t)
	for want, args := range map[string][]string{
		"limit timeout low 1":  {"--timeout", "300ms", "--grace", "1ms", "--", "sleep", "1000"},
		"architecture  high 1": {"--", "sh", "-c", "kill -SYS $$"},
	} {
		r := h.start(append([]string{"--id", h.newID()}, args...)...)
		if got := r.said(); !slices.Equal(got, []string{want}) {
			t.Errorf("%q: %q, want %q", args, got, want)
		}
	}
}

// TestAuditIsBounded makes more attempts, and more different ones, than are kept.
func TestAuditIsBounded(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import os, socket
def attempt(i):
    with socket.socket() as s:
        s.connect_ex(("192.0.2.1", i % 3000 + 1))
for process in range(4):
    if os.fork() == 0:
        for i in range(3000):
            attempt(i)
        os._exit(0)
for process in range(4):
    assert os.wait()[1] == 0
`)
	r.expect(t, "complete", "exit", 0)
	if len(r.Audit) != 100 || r.AuditTotal != 1001 {
		t.Errorf("%d events of %d, want 100 of 1001", len(r.Audit), r.AuditTotal)
	}
}

// TestAuditDoesNotHold kills processes that wait for an answer, and interrupts them with signals after which the kernel
// starts the call again (SA_RESTART).
func TestAuditDoesNotHold(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import os, random, signal, socket, time
def connect():
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", 5432))
for victim in range(200):
    child = os.fork()
    if child == 0:
        while True:
            connect()
    time.sleep(random.random() / 500)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
signal.signal(signal.SIGALRM, lambda *_: None)
signal.siginterrupt(signal.SIGALRM, False)
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
for i in range(500):
    assert connect() == 111
signal.setitimer(signal.ITIMER_REAL, 0)
`)
	r.expect(t, "complete", "exit", 0)
}
