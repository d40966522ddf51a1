package e2e

import (
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/examples/check"
)

// TestExamples runs the examples' manifests as the README says and recomputes their numbers from the data.
func TestExamples(t *testing.T) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for name, check := range map[string]func(dataDir, outDir string) error{
		"brain-networks": check.BrainNetworks,
		"penguins":       check.Penguins,
		"fmri":           check.FMRI,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			r := h.start("--id", h.newID(), "-f", filepath.Join(examples, name, "manifest.yaml"), "--export", "out")
			r.expect(t, "complete", "exit", 0)
			if r.Labels["example"] != name || len(r.Rejected) > 0 {
				t.Errorf("labels %v, rejected %v", r.Labels, r.Rejected)
			}
			if err := check(filepath.Join(examples, "data"), h.path("out")); err != nil {
				t.Error(err)
			}
			h.mustRun("outputs", "export", r.ID, "again")
			if err := check(filepath.Join(examples, "data"), h.path("again")); err != nil {
				t.Error(err)
			}
		})
	}
}
