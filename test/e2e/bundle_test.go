package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"
)

// TestBundleRunsUnderRunc runs bundles under the runc of the distribution.
func TestBundleRunsUnderRunc(t *testing.T) {
	h := newHarness(t)
	h.write("data/table.csv", "from the data\n", 0o644)
	// The ids of root's container must be able to reach the bundle.
	for dir := h.dir; dir != os.TempDir(); dir = filepath.Dir(dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		command []string
		code    int
		stdout  string
	}{
		"success":   {[]string{"sh", "-c", "cat /data/table.csv; echo written >result; cat result"}, 0, "from the data\nwritten\n"},
		"exit code": {[]string{"sh", "-c", "exit 7"}, 7, ""},
		"scratch": {
			[]string{"sh", "-c", `echo x >/tmp/x && echo x >$HOME/x && echo x >/dev/shm/x && stat -c '%a' /tmp $HOME /dev/shm`},
			0,
			"1777\n700\n1777\n",
		},
		"python":   {[]string{"python3", "-c", "import os; print(os.getcwd(), os.environ['HOME'])"}, 0, "/work /home/analysis\n"},
		"confined": {[]string{"sh", "-c", "grep -E '^(CapEff|NoNewPrivs|Seccomp):' /proc/self/status; echo x >/data/x"}, 2, "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n"},
	} {
		t.Run(name, func(t *testing.T) {
			id := h.newID()
			bundle := h.path("bundle-" + id)
			h.mustRun(append([]string{"spec", "--bundle", bundle, "--id", id, "--data", "data", "--"}, c.command...)...)
			decodeSpec(t, []byte(readFile(t, filepath.Join(bundle, "config.json"))))
			state := h.path("state-" + id)
			out := h.finish(h.command("runc", "--root", state, "run", "--bundle", bundle, id))
			if out.code != c.code || out.stdout != c.stdout {
				t.Errorf("runc: exit code %d, standard output %q; want %d, %q\n%s", out.code, out.stdout, c.code, c.stdout, out.stderr)
			}
			if name == "success" {
				if got := readFile(t, filepath.Join(bundle, "work", "result")); got != "written\n" {
					t.Errorf("in /work of the bundle: %q", got)
				}
			}
			if left, _ := os.ReadDir(state); len(left) > 0 {
				t.Errorf("runc left %v", left)
			}
		})
	}
	if names := h.mustRun("ls", "--quiet").stdout; names != "" {
		t.Errorf("spec recorded runs: %q", names)
	}
}

// TestSpecIsValid decodes what spec prints strictly, and that it is the one of a confined process.
func TestSpecIsValid(t *testing.T) {
	h := newHarness(t)
	h.write("data/x", "", 0o644)
	out := h.mustRun("spec", "--id", h.newID(), "--env", "A=b", "--cpus", "1.5", "--", "python3", "-c", "pass")
	s := decodeSpec(t, []byte(out.stdout))
	if !slices.Equal(s.Process.Args, []string{"python3", "-c", "pass"}) || s.Process.Cwd != "/work" || !slices.Contains(s.Process.Env, "A=b") {
		t.Errorf("process %+v", s.Process)
	}
	if !s.Process.NoNewPrivileges || s.Process.Capabilities == nil || len(s.Process.Capabilities.Bounding) > 0 || s.Linux.Seccomp == nil {
		t.Error("the process of the specification is not confined")
	}
	var kinds []string
	for _, namespace := range s.Linux.Namespaces {
		if namespace.Path != "" {
			t.Errorf("namespace %s is joined, at %s", namespace.Type, namespace.Path)
		}
		kinds = append(kinds, string(namespace.Type))
	}
	slices.Sort(kinds)
	if want := "cgroup ipc mount network pid user uts"; strings.Join(kinds, " ") != want {
		t.Errorf("namespaces %v, want %s", kinds, want)
	}
	if strings.Contains(out.stdout, "scidex-init") {
		t.Error("the printed specification needs our init")
	}
}

func decodeSpec(t *testing.T, raw []byte) specs.Spec {
	t.Helper()
	var s specs.Spec
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&s); err != nil || decoder.More() {
		t.Fatalf("no OCI specification: %v", err)
	}
	if s.Version == "" || s.Process == nil || s.Root == nil || s.Linux == nil {
		t.Fatalf("not a whole specification: %+v", s)
	}
	return s
}
