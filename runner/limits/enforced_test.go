package limits

import (
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestEnforced(t *testing.T) {
	a := spec.Analysis{CPUs: 0.5}.WithDefaults()
	by := func(list []result.Enforcement) string {
		var words []string
		for _, e := range list[:3] {
			words = append(words, e.Limit+"="+e.Effective+" "+e.By)
		}
		return strings.Join(words, ", ")
	}
	for want, got := range map[string]*cgroup.Limits{
		"memory=2147483648 cgroup, cpus=0.5 cgroup, pids=100 cgroup": {Memory: 2 << 30, CPUs: 0.5, Pids: 100},
		"memory=2147483648 cgroup, cpus= none, pids=100 cgroup":      {Memory: 2 << 30, Pids: 100},
		"memory=2147483648 rlimit, cpus= none, pids=100 rlimit":      nil,
	} {
		if list := enforcedBy(a, got); by(list) != want {
			t.Errorf("got %s, want %s", by(list), want)
		}
	}
	want := []string{"best effort: the memory limit holds for each process by itself, and not for shared memory, /tmp and /dev/shm; CPUs are not limited"}
	if warnings := Unheld(enforcedBy(a, nil)); !slices.Equal(warnings, want) {
		t.Errorf("best effort warns with %q, want %q", warnings, want)
	}
}

func TestWorkEnforced(t *testing.T) {
	a := spec.Analysis{WorkSize: 2<<20 + 1, WorkFiles: 5}.WithDefaults()
	for storage, want := range map[string][]result.Enforcement{
		spec.WorkDisk:  {{Limit: "work_size", Asked: "2097153", Effective: "2097153", By: "watchdog"}, {Limit: "work_files", Asked: "5", Effective: "5", By: "watchdog"}},
		spec.WorkTmpfs: {{Limit: "work_size", Asked: "2097153", Effective: "2101248", By: "tmpfs"}, {Limit: "work_files", Asked: "5", Effective: "5", By: "tmpfs"}},
	} {
		a.WorkStorage = storage
		if got := workEnforced(a); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %+v", storage, got, want)
		}
	}
}
