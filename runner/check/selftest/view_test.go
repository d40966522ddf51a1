package selftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/spec"
)

// The inputs that the runner found are set. The number of CPUs is not, unless it was asked for.
func TestCompleted(t *testing.T) {
	mounts := []specs.Mount{{Destination: "/data", Source: "/here/data"}, {Destination: "/usr", Source: "/usr"}}
	a, err := completed(spec.Analysis{Docs: "none"}, mounts)
	if err != nil || a.Data != "/here/data" || a.Docs != spec.None || a.Memory != 2*spec.GiB || a.CPUs != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if a = raised(a); a.CPUs != 0 {
		t.Errorf("%g CPUs are asked for", a.CPUs)
	}
}

func TestRaised(t *testing.T) {
	small := spec.Analysis{Memory: 4 * spec.MiB, Pids: 2, CPUs: 0.01, Timeout: 1e8}
	if a := raised(small); a.Memory != minMemory || a.Pids != minPids || a.CPUs != minCPUs || a.Timeout != minTimeout {
		t.Errorf("%+v", a)
	}
	small.Limits = spec.LimitsBestEffort
	if a := raised(small); a.Memory != minData {
		t.Errorf("memory %s", a.Memory)
	}
	large := spec.Analysis{Memory: spec.TiB, Pids: 4000, CPUs: 64, Timeout: 2 * minTimeout}
	if a := raised(large); a.Memory != large.Memory || a.Pids != large.Pids || a.CPUs != large.CPUs || a.Timeout != large.Timeout {
		t.Errorf("%+v", a)
	}
}

func TestIsInput(t *testing.T) {
	for destination, want := range map[string]bool{
		"/data": true, "/docs": true, "/analysis": true, "/analysis/a.py": true, "/inputs/x": true, "/models": true,
		"/usr": false, "/usr/lib": false, "/lib64": false, "/etc/ssl/certs": false, "/work": false, "/dev/scidex-init": false,
	} {
		if isInput(destination) != want {
			t.Errorf("%s: %v", destination, !want)
		}
	}
}

func TestInput(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newInput(dir, "/data")
	if !b.Dir || b.File != "a/b/file" || b.changed() {
		t.Errorf("%+v", b)
	}
	v := view{Inputs: []input{b, {Source: "/s/x", Inside: "/inputs/x"}}}
	for inside, want := range map[string]string{
		"/data": dir, "/data/a": dir + "/a", "/inputs/x": "/s/x", "/inputs/xy": "", "/run/x": "", "/database": "",
	} {
		if got := v.outside(inside); got != want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if b := newInput(filepath.Join(dir, "new"), "/inputs/new"); b.Dir || b.File != "" {
		t.Errorf("%+v", b)
	}
}
