package limits

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/outer"
	"github.com/scidex-ai/scidex-oci/spec"
)

func TestOuterEnforced(t *testing.T) {
	a := spec.Analysis{Memory: 4 * spec.GiB, CPUs: 2, Pids: 50}
	held := func(memory, pids int64, cpus float64) outer.Held {
		return outer.Held{Limits: cgroup.Limits{Memory: memory, Pids: pids, CPUs: cpus}}
	}
	unread, swapping, set := held(0, 0, 0), held(1<<30, 50, 2), held(1<<30, 50, 1)
	unread.Why = map[string]error{"memory": errors.New("it is dark")}
	swapping.Swapping, set.CPUSet = true, true
	for name, c := range map[string]struct {
		held     outer.Held
		want     [3]string
		warnings []string
	}{
		"held":            {held(1<<30, 50, 1.5), [3]string{"1073741824 outer", "1.5 outer", "50 outer"}, nil},
		"looser":          {held(8<<30, 38000, 3), [3]string{"8589934592 outer", "3 outer", "38000 outer"}, []string{"allow 8GiB of memory, more than the 4GiB asked for", "allow 3 CPUs", "allow 38000 processes"}},
		"nothing":         {held(0, 0, 0), [3]string{" none", " none", " none"}, []string{"nothing holds the limit of 4GiB of memory", "of 2 CPUs", "of 50 processes"}},
		"not readable":    {unread, [3]string{" none", " none", " none"}, []string{"4GiB of memory: it is dark", "of 2 CPUs", "of 50 processes"}},
		"with swap":       {swapping, [3]string{"1073741824 outer", "2 outer", "50 outer"}, []string{"does not hold swap"}},
		"by a set of CPU": {set, [3]string{"1073741824 outer", "1 outer", "50 outer"}, []string{"cpuset"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := outerEnforced(a, c.held)
			for i, want := range c.want {
				if got := list[i].Effective + " " + list[i].By; got != want || list[i].Asked == "" {
					t.Errorf("%+v, want %q", list[i], want)
				}
			}
			warnings := outerWarnings(a, c.held)
			if len(warnings) != len(c.warnings) {
				t.Fatalf("warnings %q", warnings)
			}
			for i, want := range c.warnings {
				if !strings.Contains(warnings[i], want) {
					t.Errorf("no %q in %q", want, warnings[i])
				}
			}
		})
	}
}

func TestSharedEvidenceIsAWarning(t *testing.T) {
	if got := sharedWarning(cgroup.Evidence{}); got != "" {
		t.Errorf("%q for nothing", got)
	}
	got := sharedWarning(cgroup.Evidence{OOMKills: 1, PidsDenied: 2, Throttled: 30 * time.Millisecond})
	for _, want := range []string{"1 process killed for lack of memory", "2 denied forks", "30ms without CPU", "cannot be known whose"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %q", want, got)
		}
	}
}

func TestEvidenceSaysWhoseLimit(t *testing.T) {
	for want, short := range map[result.OOMLimit]cgroup.Shortage{
		{By: result.OOMOwn, Bytes: 4096}:   {Own: true},
		{By: result.OOMOuter, Bytes: 2048}: {Outer: 2048},
		{By: result.OOMEither}:             {Own: true, Outer: 2048},
		{By: result.OOMUnknown}:            {},
	} {
		got := evidenceOf(cgroup.Evidence{OOMKills: 2, Shortage: short}, 4096)
		if !reflect.DeepEqual(got, result.Evidence{OOMKills: 2, OOMLimit: &want}) {
			t.Errorf("%+v gives %+v", short, got.OOMLimit)
		}
	}
	if got := evidenceOf(cgroup.Evidence{PidsDenied: 1, Shortage: cgroup.Shortage{Outer: 2048}}, 4096); got.OOMLimit != nil {
		t.Errorf("nothing was killed, and the limit is %+v", got.OOMLimit)
	}
}
