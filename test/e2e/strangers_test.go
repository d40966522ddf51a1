package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// stranger is another user of the host (nobody).
const stranger = 65534

// entry is what a stranger tries on a directory with a program in it.
const entry = `ls "$1" >/dev/null && echo listed; cat "$1/program" >/dev/null && echo read; "$1/program" && echo ran; cd "$1" && echo entered; :`

// asStranger runs it as the stranger and returns what worked.
func asStranger(t *testing.T, dir string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", entry, "sh", dir)
	cmd.Dir, cmd.Env = "/", []string{"PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// TestStrangersStayOut lets an analysis open its directory to everyone, and another user of the host try to
// enter, read and run what is there: while it runs, and when the directory is kept.
func TestStrangersStayOut(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can become another user; the tests as root do")
		return
	}
	open := filepath.Join("/tmp", newPrefix())
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(open) })
	if err := os.WriteFile(filepath.Join(open, "program"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := asStranger(t, open); got != "" {
		t.Fatalf("a stranger %s a directory of mode 0700: it proves nothing", got)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	if got := asStranger(t, open); got != "listed read ran entered" {
		t.Fatalf("a stranger only %s an open directory: it proves nothing", got)
	}

	h := newHarness(t)
	f := h.flag()
	l := h.launch(h.id("open"), "--keep", "always", "--input", f.input(), "--", "sh", "-c",
		`printf '#!/bin/sh\n' >program; chmod 777 . program; echo ready >&2; `+awaited)
	l.await("ready")
	dir := filepath.Join("/tmp", "scidex-analysis-"+l.id)
	if got := asStranger(t, filepath.Join(dir, "work")); got != "" {
		t.Errorf("while it runs, a stranger %s its directory", got)
	}
	f.raise()
	l.wait().expect(t, "complete", "exit", 0)
	if got := asStranger(t, dir); got != "" {
		t.Errorf("a stranger %s the kept directory", got)
	}
	h.mustRun("rm", l.id)
}
