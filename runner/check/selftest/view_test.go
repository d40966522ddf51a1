package selftest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/spec"
)

// What the runner found by itself is in account; a number of CPUs that nobody asked for is not asked for.
func TestCompleted(t *testing.T) {
	mounts := []specs.Mount{{Destination: "/data", Source: "/here/data"}, {Destination: "/usr", Source: "/usr"}}
	a, err := completed(spec.Analysis{Docs: "none"}, mounts)
	if err != nil || a.Data != "/here/data" || a.Docs != spec.None || a.Memory != 2*spec.GiB || a.CPUs != 0 {
		t.Errorf("%+v, %v", a, err)
	}
	if a = roomy(a); a.CPUs != 0 {
		t.Errorf("%g CPUs are asked for", a.CPUs)
	}
}

func TestRoomy(t *testing.T) {
	small := spec.Analysis{Memory: 4 * spec.MiB, Pids: 2, CPUs: 0.01, Timeout: 1e8}
	if a := roomy(small); a.Memory != leastMemory || a.Pids != leastPids || a.CPUs != leastCPUs || a.Timeout != leastTimeout {
		t.Errorf("%+v", a)
	}
	small.Limits = spec.LimitsBestEffort
	if a := roomy(small); a.Memory != leastData {
		t.Errorf("memory %s", a.Memory)
	}
	large := spec.Analysis{Memory: spec.TiB, Pids: 4000, CPUs: 64, Timeout: 2 * leastTimeout}
	if a := roomy(large); a.Memory != large.Memory || a.Pids != large.Pids || a.CPUs != large.CPUs || a.Timeout != large.Timeout {
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

func TestBind(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBind(dir, "/data")
	if !b.dir || b.file != "a/b/file" || b.changed() {
		t.Errorf("%+v", b)
	}
	v := view{inputs: []bind{b, {source: "/s/x", inside: "/inputs/x"}}}
	for inside, want := range map[string]string{
		"/data": dir, "/data/a": dir + "/a", "/inputs/x": "/s/x", "/inputs/xy": "", "/run/x": "", "/database": "",
	} {
		if got := v.outside(inside); got != want {
			t.Errorf("%s: %q, want %q", inside, got, want)
		}
	}
	said := got("create", "EROFS", "mkdir", "EROFS", "chmod", "EROFS")
	p := b.probe("write", try{At: "/data"}, "create", "mkdir", "chmod")
	if result, detail := p.judge(said); result != Pass {
		t.Errorf("%s, %s", result, detail)
	}
	if err := os.WriteFile(filepath.Join(dir, "new"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result, detail := p.judge(said); result != Inconclusive {
		t.Errorf("%s, %s; want nothing proven where the directory has changed", result, detail)
	}
	if b := newBind(filepath.Join(dir, "new"), "/inputs/new"); b.dir || b.file != "" {
		t.Errorf("%+v", b)
	}
}

func TestAllowing(t *testing.T) {
	r := &phase.Host{AllowBinds: []binds.Allowed{{File: "c", Prefixes: []string{"/srv"}}, {File: "d"}}}
	wider := allowing(r, "/tmp/x")
	if len(wider.AllowBinds) != 2 || len(wider.AllowBinds[0].Prefixes) != 2 || wider.AllowBinds[1].Prefixes[0] != "/tmp/x" {
		t.Errorf("%+v", wider.AllowBinds)
	}
	if len(r.AllowBinds[0].Prefixes) != 1 || len(r.AllowBinds[1].Prefixes) != 0 {
		t.Errorf("the caller's runner was changed: %+v", r.AllowBinds)
	}
	if allowing(&phase.Host{}, "/tmp/x").AllowBinds != nil {
		t.Error("a restriction came out of nothing")
	}
}
