package e2e

import (
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sibling is a run next to others that exceed their limits. It has the same limits, keeps starting processes, taking
// memory and writing, and the others must not affect it.
type sibling struct {
	*launch
	end flag
	all []watched // launcher, supervisor, init, analysis
}

// newSibling starts a sibling in the same harness: it has catalog and blobs in common with the others.
func (h *harness) newSibling() *sibling {
	h.t.Helper()
	id, end := h.newID(), h.flag()
	// Without a command's own hangTimeout: it lives as long as all of the others together.
	cmd := exec.CommandContext(h.t.Context(), theHost.bin,
		runWith(id, programWith(end, flags("--memory=32MiB", "--pids=20", "--cpus=0.5"), "limits/sibling.py", nil))...)
	cmd.Dir, cmd.Env = h.dir, h.env
	l := h.follow(id, cmd)
	l.await("ready")
	all := l.family()
	launcher, analysis := all[0], all[analysisAmong(h.t, all)]
	return &sibling{l, end, slices.DeleteFunc(all, func(w watched) bool {
		return w != launcher && w != analysis && !strings.HasPrefix(w.command, "scidex-oci: supervisor") && !strings.HasPrefix(w.command, initProgram)
	})}
}

// expectUntouched waits until the sibling has made another turn, and looks for all of its processes.
func (s *sibling) expectUntouched(t *testing.T) {
	t.Helper()
	for len(s.lines) > 0 {
		<-s.lines
	}
	s.await("turn")
	for _, w := range s.all {
		if !w.alive() {
			t.Errorf("of the sibling %q is dead", w.command)
		}
	}
}

// finish ends the sibling, which must be complete and have met no limit.
func (s *sibling) finish(t *testing.T) {
	t.Helper()
	s.end.raise()
	r := s.wait()
	r.expect(t, "complete", "exit", 0)
	if r.Evidence.OOMKills+r.Evidence.PidsDenied != 0 {
		t.Errorf("the sibling met limits: %+v", r.Evidence)
	}
	if !slices.Equal(r.paths(), []string{"before", "turns"}) || r.output("turns").Partial {
		t.Errorf("the sibling's outputs are %+v", r.Outputs)
	}
	made := strings.TrimSpace(s.h.blob(r.output("turns").SHA256))
	if said := s.h.stdoutOf(r); !regexp.MustCompile(`\nall turns made ` + made + `\n$`).MatchString(said) {
		t.Errorf("the sibling made %s turns and ended its report so: %q", made, said[max(0, len(said)-40):])
	}
}
