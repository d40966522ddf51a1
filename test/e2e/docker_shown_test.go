package e2e

import (
	"os"
	"testing"
)

// TestDockerShownInputsAreChecked: what may not be bound may not be shown in the output directory either, into which it is copied.
func TestDockerShownInputsAreChecked(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	secret := h.write("other/secret", "secret\n", 0o600)
	allowed := h.write("allowed/file", "allowed\n", 0o644)
	config := h.write("allowing.yaml", toolMap+"allow_binds: ["+h.path("allowed")+", "+h.path("out")+"]\n", 0o644)
	for name, c := range map[string]struct{ config, source string }{
		"outside of allow_binds":             {config, secret},
		"a directory outside of allow_binds": {config, h.path("other")},
		"the catalog":                        {h.path("config.yaml"), h.root + "/catalog.db"},
		"the root":                           {h.path("config.yaml"), h.root},
	} {
		t.Run(name, func(t *testing.T) {
			for _, target := range []string{"/elsewhere/x", "/job/x", "/job/below/x"} {
				in := h.in(t)
				in.emptyOut()
				cmd := in.dockerRun(in.newID(), "cat x below/x", "--volume="+c.source+":"+target+":ro")
				cmd.Env = append(cmd.Env, "SCIDEX_OCI_CONFIG="+c.config)
				out := in.finish(cmd)
				if out.code != 125 || out.stdout != "" {
					t.Errorf("at %s: exit code %d, %.60q, %.200s", target, out.code, out.stdout, out.stderr)
				}
				in.expectOut("")
			}
		})
	}
	h.emptyOut()
	cmd := h.dockerRun(h.newID(), "cat x", "--volume="+allowed+":/job/x:ro")
	cmd.Env = append(cmd.Env, "SCIDEX_OCI_CONFIG="+config)
	if out := h.finish(cmd); out.code != 0 || out.stdout != "allowed\n" {
		t.Errorf("what is allowed: %+v", out)
	}
}

// emptyOut makes the output directory anew.
func (h *harness) emptyOut() {
	h.t.Helper()
	if err := os.RemoveAll(h.path("out")); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Mkdir(h.path("out"), 0o755); err != nil {
		h.t.Fatal(err)
	}
}
