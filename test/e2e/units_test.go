package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnits has systemd read the units of docs/systemd, which call the program by a name that systemd looks up.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: the units in docs/systemd are not verified")
	}
	const call = "\nExecStart=scidex-oci gc\n"
	for scope, files := range map[string]map[string]string{
		"system": {"scidex-oci-gc@.service": "scidex-oci-gc@root.service", "scidex-oci-gc@.timer": "scidex-oci-gc@root.timer"},
		"user":   {"scidex-oci-gc.service": "scidex-oci-gc.service", "scidex-oci-gc.timer": "scidex-oci-gc.timer"},
	} {
		t.Run(scope, func(t *testing.T) {
			h := newHarness(t)
			h.setenv("XDG_RUNTIME_DIR", h.dir)
			command := []string{"--" + scope, "--man=no", "verify"}
			calls := 0
			for file, unit := range files {
				text := readFile(t, filepath.Join("../../docs/systemd", scope, file))
				calls += strings.Count(text, call)
				text = strings.ReplaceAll(text, call, "\nExecStart="+theHost.bin+" gc\n")
				command = append(command, h.write("units/"+unit, text, 0o644))
			}
			if calls != 1 {
				t.Errorf("gc is called %d times", calls)
			}
			if entries, err := os.ReadDir(filepath.Join("../../docs/systemd", scope)); err != nil || len(entries) != len(files) {
				t.Errorf("docs/systemd/%s has %d files, of which %d are verified (%v)", scope, len(entries), len(files), err)
			}
			out := h.finish(h.command("systemd-analyze", command...))
			if out.code != 0 || out.stdout+out.stderr != "" {
				t.Errorf("systemd-analyze: exit code %d: %s%s", out.code, out.stdout, out.stderr)
			}
		})
	}
}
