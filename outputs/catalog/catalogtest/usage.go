package catalogtest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// using is an ended run with a reason, a report and a request.
func using(t *testing.T, c catalog.Catalog, id, request, report string, reason outcome.Reason, change func(*catalog.Run)) {
	t.Helper()
	run := intent(id, 1)
	run.Request = json.RawMessage(request)
	if change != nil {
		change(&run)
	}
	create(t, c, run)
	run = ended(run)
	run.Reason, run.Report = reason, json.RawMessage(report)
	must(t, c.Commit(t.Context(), run, from()))
}

func usage(t *testing.T, c catalog.Catalog, filter catalog.Filter, label string) (all []catalog.Usage) {
	t.Helper()
	must(t, c.Usage(t.Context(), filter, label, func(u catalog.Usage) bool {
		all = append(all, u)
		return true
	}))
	slices.SortFunc(all, func(a, b catalog.Usage) int { return cmp.Compare(a.WallMS, b.WallMS) })
	return all
}

const asked = `{"memory":2147483648,"cpus":0.5,"timeout":"30m"}`

func used(wall int) string {
	return fmt.Sprintf(`{"usage":{"wall_ms":%d,"cpu_ms":5,"memory_peak_bytes":9007199254740993},"series":{"t_ms":[1,2,3]}}`, wall)
}

func testUsage(t *testing.T, d Driver) {
	c := fresh(t, d)
	hostile := "a b,c=\" é\n\x01"
	using(t, c, "plain", asked, used(1), "exit", nil)
	using(t, c, "oom", asked, used(2), "out_of_memory", func(r *catalog.Run) {
		r.CreatedAt = r.CreatedAt.Add(30 * time.Minute)
		r.Labels = map[string]string{"project": hostile, "k": "v"}
	})
	using(t, c, "late", asked, used(3), "timeout", func(r *catalog.Run) {
		r.CreatedAt, r.Labels = r.CreatedAt.Add(30*time.Hour), map[string]string{"k": "v", "project": ""}
	})
	create(t, c, intent("running", 1))
	want := func(i int, label string, labelled bool) catalog.Usage {
		return catalog.Usage{
			Label: label, Labelled: labelled, WallMS: int64(i), CPUMS: 5, MemoryPeak: 9007199254740993, Memory: 2 << 30, CPUs: 0.5,
			TimeoutMS: 1_800_000, OutOfMemory: i == 2, TimedOut: i == 3,
		}
	}
	plain, oom, late := want(1, "", false), want(2, "", false), want(3, "", false)
	tests := []struct {
		name, label string
		filter      catalog.Filter
		want        []catalog.Usage
	}{
		{"all", "", catalog.Filter{}, []catalog.Usage{plain, oom, late}},
		{"by a label", "project", catalog.Filter{}, []catalog.Usage{want(1, "brain", true), want(2, hostile, true), want(3, "", true)}},
		{"by a label that some have", "k", catalog.Filter{}, []catalog.Usage{plain, want(2, "v", true), want(3, "v", true)}},
		{"by one that none has", "\xff", catalog.Filter{}, []catalog.Usage{plain, oom, late}},
		{"since", "", catalog.Filter{Since: created().Add(30 * time.Minute)}, []catalog.Usage{oom, late}},
		{"since a moment later", "", catalog.Filter{Since: created().Add(30*time.Minute + time.Millisecond)}, []catalog.Usage{late}},
		{"until", "", catalog.Filter{Until: created().Add(30 * time.Minute)}, []catalog.Usage{plain}},
		{"of a reason", "", catalog.Filter{Reasons: []outcome.Reason{"timeout"}}, []catalog.Usage{late}},
		{"of a state", "", catalog.Filter{States: []outcome.State{outcome.Failed}}, []catalog.Usage{plain, oom, late}},
		{"of another", "", catalog.Filter{States: []outcome.State{outcome.Complete, outcome.Running}}, nil},
		{"with a label, by another", "project", catalog.Filter{Labels: map[string]string{"k": "v", "project": ""}}, []catalog.Usage{want(3, "", true)}},
		{"whatever the limit", "", catalog.Filter{Limit: 1}, []catalog.Usage{plain, oom, late}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := usage(t, c, tt.filter, tt.label); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%+v, want\n%+v", got, tt.want)
			}
		})
	}
	n := 0
	must(t, c.Usage(t.Context(), catalog.Filter{}, "", func(catalog.Usage) bool { n++; return false }))
	if n != 1 {
		t.Errorf("%d runs after yield returned false, want 1", n)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	wantError(t, "cancelled", c.Usage(gone, catalog.Filter{}, "", func(catalog.Usage) bool { return true }), context.Canceled)
}

// With any documents the run is committed and the others are read.
func testUsageOfAnything(t *testing.T, d Driver) {
	c := fresh(t, d)
	for i, documents := range [][2]string{
		{`{"memory":"64MiB, 2 3","cpus":[1],"timeout":60}`, `{"usage":{"wall_ms":1,"cpu_ms":"x","memory_peak_bytes":null}}`},
		{`{"memory":{"a":1},"timeout":"\u0009, =30m"}`, `{"usage":{"wall_ms":2}}`},
		{`null`, `[]`},
		{`[1]`, `{"usage":[]}`},
		{`"x"`, `{"usage":"y"}`},
		{`{}`, `7`},
	} {
		using(t, c, fmt.Sprint("run-", i), documents[0], documents[1], "exit", nil)
	}
	using(t, c, "escapes", `{"a":"\u0000"}`, `{"a":"\uD800","usage":{}}`, "exit", nil)
	want := []catalog.Usage{{}, {}, {}, {}, {}, {WallMS: 1, TimeoutMS: 60_000}, {WallMS: 2}}
	if got := usage(t, c, catalog.Filter{}, ""); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want\n%+v", got, want)
	}
}
