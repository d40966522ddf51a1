package e2e

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnits lets systemd read the units of docs/systemd, which name the program without a path.
func TestUnits(t *testing.T) {
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("systemd-analyze is not installed: the units in docs/systemd are not verified")
	}
	const call = "\nExecStart=scidex-oci "
	for scope, services := range map[string]int{"system": 2, "user": 2} {
		t.Run(scope, func(t *testing.T) {
			h := newHarness(t)
			h.setenv("XDG_RUNTIME_DIR", h.dir)
			command := []string{"--" + scope, "--man=no", "verify"}
			calls := 0
			for _, file := range matches(filepath.Join("../../docs/systemd", scope, "*")) {
				text := readFile(t, file)
				calls += strings.Count(text, call)
				text = strings.ReplaceAll(text, call, "\nExecStart="+theHost.bin+" ")
				unit := strings.Replace(filepath.Base(file), "@.", "@root.", 1)
				command = append(command, h.write("units/"+unit, text, 0o644))
			}
			if calls != services {
				t.Errorf("the program is called %d times, want %d", calls, services)
			}
			out := h.finish(h.command("systemd-analyze", command...))
			if out.code != 0 || out.stdout+out.stderr != "" {
				t.Errorf("systemd-analyze: exit code %d: %s%s", out.code, out.stdout, out.stderr)
			}
		})
	}
}
