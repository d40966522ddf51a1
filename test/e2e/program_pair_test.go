package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	supervisorProgram = "scidex-oci-supervisor"
	netProgram        = "scidex-oci-net"
)

// copied is a copy of the program under test in a directory of its own, and, if with is set, of those that it executes.
func (h *harness) copied(with bool) (program string) {
	h.t.Helper()
	names := []string{"scidex-oci"}
	if with {
		names = append(names, supervisorProgram, netProgram)
	}
	for _, name := range names {
		h.write("programs/"+name, readFile(h.t, filepath.Join(filepath.Dir(theHost.bin), name)), 0o755)
	}
	return h.path("programs/scidex-oci")
}

// programOf is the path of the program that a process executes, or nothing if it has ended.
func programOf(w watched) string {
	path, _ := os.Readlink(filepath.Join("/proc", w.id(), "exe"))
	return path
}

// supervises starts an analysis by a program, which must be supervised by the other one, and kills the supervisor.
func (h *harness) supervises(program, by string) {
	h.t.Helper()
	id := h.newID()
	l := h.follow(id, h.command(program, runWith(id, flags("--", "sh", "-c", endless, id+"-marker"))...))
	l.await("ready")
	all, supervisor := l.family(), l.supervisor()
	if path := programOf(supervisor); path != by {
		h.t.Errorf("the supervisor executes %q, want %q", path, by)
	}
	supervisor.kill(h.t)
	l.wait().expect(h.t, "lost", "supervisor_lost", 125)
	expectGone(h.t, all, id)
}

// slow reports whether a run says that its supervisor was the whole program.
func slow(r result) bool {
	return strings.Contains(strings.Join(r.Warnings, "\n"), "its own supervisor")
}

// TestSupervisorOfItsOwn: the small program supervises if it is next to scidex-oci.
func TestSupervisorOfItsOwn(t *testing.T) {
	h := newHarness(t)
	program := h.copied(true)
	h.supervises(program, filepath.Join(filepath.Dir(program), supervisorProgram))
	if r := h.resultOf(h.command(program, "run", "--json", "--id", h.newID(), "--", "true")); slow(r) {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// TestSingleFile: without it scidex-oci is its own supervisor, without a warning.
func TestSingleFile(t *testing.T) {
	h := newHarness(t)
	program := h.copied(false)
	r := h.resultOf(h.command(program, "run", "--json", "--id", h.newID(), "--", "sh", "-c", "echo out >out"))
	r.expect(t, "complete", "exit", 0)
	if len(r.Outputs) != 1 || slow(r) {
		t.Errorf("outputs %v, warnings %q", r.paths(), r.Warnings)
	}
	h.supervises(program, program)
	ids := h.newIDs(3)
	out := h.finish(h.command(program, "batch", "--jobs=2", h.lines(marked(ids[0], "true"), marked(ids[1], "echo x >x"), marked(ids[2], "true"))))
	if got := h.results(out.stdout); out.code != 0 || len(got) != 3 || len(got[ids[1]].Outputs) != 1 {
		t.Errorf("%+v", out)
	}
}

// TestOtherSupervisor: a program that was not built with scidex-oci, or that others may write to, is never executed.
// The run goes on without it and warns.
func TestOtherSupervisor(t *testing.T) {
	for name, c := range map[string]struct {
		content func(small string) string
		mode    os.FileMode
		why     string
	}{
		"another program":  {func(string) string { return "#!/bin/sh\ntouch \"$0.was-executed\"\n" }, 0o755, "it was not built with this scidex-oci"},
		"of another build": {func(small string) string { return small[:len(small)-2] + "-\n" }, 0o755, "it was not built with this scidex-oci"},
		"writable for all": {func(small string) string { return small }, 0o757, "others may write to it"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			program := h.copied(true)
			beside := filepath.Join(filepath.Dir(program), supervisorProgram)
			h.write("programs/"+supervisorProgram, c.content(readFile(t, beside)), c.mode)
			r := h.resultOf(h.command(program, "run", "--json", "--id", h.newID(), "--", "true"))
			r.expect(t, "complete", "exit", 0)
			if said := strings.Join(r.Warnings, "\n"); !slow(r) || !strings.Contains(said, beside+": "+c.why) {
				t.Errorf("warnings %q", r.Warnings)
			}
			h.supervises(program, program)
			if _, err := os.Stat(beside + ".was-executed"); err == nil {
				t.Error("it was executed")
			}
		})
	}
}
