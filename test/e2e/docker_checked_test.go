package e2e

import (
	"os"
	"path/filepath"
	"testing"
)

// TestDockerChecksInputs: an input that is shown in the output directory, and so copied, passes the checks of binds.
func TestDockerChecksInputs(t *testing.T) {
	h := newHarness(t)
	h.write("out/file", "x", 0o644)
	h.write("in/deep/file", "x", 0o644)
	h.write("allowed/file", "allowed\n", 0o644)
	h.mustRun("ls") // makes the catalog
	catalog := filepath.Join(h.root, "catalog.db")
	h.mustSucceed(os.Symlink(catalog, h.path("allowed/link")), os.Chmod(catalog, 0o644), os.Chmod(h.root, 0o755))
	refused := map[string]string{
		catalog: "where scidex-oci keeps", h.root: "where scidex-oci keeps", h.path("allowed/link"): "where scidex-oci keeps",
		h.path("allowed"): "allowed/", h.path("in/deep/file"): "allow_binds", h.path("in"): "allow_binds",
	}
	if theHost.root {
		refused[h.write("allowed/secret", "x", 0o600)] = "cannot read it"
	}
	config := h.write("allow.yaml", toolMap+"allow_binds: ["+h.path("allowed")+", "+h.path("out")+"]\n", 0o644)
	run := func(source, at string) outcome {
		cmd := h.dockerRun(h.newID(), "cat "+at, "--volume="+source+":"+at+":ro")
		cmd.Env = append(cmd.Env, "SCIDEX_OCI_CONFIG="+config)
		return h.finish(cmd)
	}
	for source, word := range refused {
		for _, at := range []string{"/job/in", "/job/below/in"} {
			got := run(source, at)
			if got.code != 125 || got.stdout != "" {
				t.Errorf("%s at %s: %+v", source, at, got)
			}
			checkSentence(t, got.stderr, word)
			h.expectOut("file")
		}
	}
	if got := run(h.path("allowed/file"), "/job/in"); got.code != 0 || got.stdout != "allowed\n" {
		t.Errorf("%+v", got)
	}
	h.expectOut("file in")
}
