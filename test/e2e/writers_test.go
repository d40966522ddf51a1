package e2e

import "testing"

// TestSurvivingWriters: files that remaining processes have open for writing when the analysis ends are marked as
// partial, and no others.
func TestSurvivingWriters(t *testing.T) {
	const leave = `echo whole >whole; mkfifo /tmp/never
sh -c 'echo half >half; exec 3>>half 4<whole; : >made; mv made ready; read -r x </tmp/never' &
until [ -e ready ]; do sleep 0.01; done`
	for name, flags := range map[string][]string{"disk": nil, "tmpfs": flags("--work-storage", "tmpfs")} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			r := h.start(append(append([]string{"--id", h.newID()}, flags...), shell(leave)...)...)
			r.expect(t, "complete", "exit", 0)
			for path, partial := range map[string]bool{"whole": false, "half": true, "ready": false} {
				if o := r.output(path); o.Path != path || o.Partial != partial {
					t.Errorf("%+v, want partial: %v", o, partial)
				}
			}
		})
	}
}
