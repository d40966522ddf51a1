package otlp

import (
	"cmp"
	"maps"
	"slices"

	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// tree makes the spans of a run: that of the whole, and one for each phase below the phase of its row that is around it.
type tree struct {
	spans.Trace
	used   map[string]bool // phases that have had the id of their name
	around map[trace.Lane][]span
}

// wholeName is the name of the span of a whole run.
const wholeName = "scidex-oci run"

func spansOf(t spans.Trace) []span {
	phases := slices.Clone(t.Phases)
	// Of two that start together the longer one is around the other.
	slices.SortStableFunc(phases, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	b := tree{t, map[string]bool{}, map[trace.Lane][]span{}}
	all := []span{b.whole(phases)}
	for _, p := range phases {
		all = append(all, b.phase(p))
	}
	return all
}

// whole is the span of the run, from the first start to the last end.
func (b tree) whole(phases []trace.Span) span {
	var start, end int64
	for i, p := range phases {
		if i == 0 {
			start = p.Start
		}
		end = max(end, p.End)
	}
	s := b.span(b.Root, wholeName, start, end)
	if s.Parent = b.Parent; s.Parent != "" {
		s.Flags |= flagRemote
	}
	s.Attributes = append(texts(b.Text), numbers(b.Numbers)...)
	if b.Failed != "" {
		s.Status = &status{b.Failed, statusError}
	}
	return s
}

func (b tree) phase(p trace.Span) span {
	s := b.span(b.id(p), p.Name, p.Start, p.End)
	s.Attributes = texts(map[string]string{"scidex_oci.row": p.Lane.Name()})
	open := b.around[p.Lane]
	for len(open) > 0 && open[len(open)-1].End < s.End {
		open = open[:len(open)-1]
	}
	switch {
	case len(open) > 0:
		s.Parent = open[len(open)-1].SpanID
	case p.Lane == trace.Analysis && b.used[spans.AnalysisPhase]:
		s.Parent = b.Named[spans.AnalysisPhase]
	default:
		s.Parent = b.Root
	}
	b.around[p.Lane] = append(open, s)
	return s
}

func (b tree) id(p trace.Span) string {
	id := b.Named[p.Name]
	if p.Lane != trace.Run || id == "" || b.used[p.Name] {
		return spans.NewID()
	}
	b.used[p.Name] = true
	return id
}

// span has what all have. Times are of CLOCK_MONOTONIC.
func (b tree) span(id, name string, start, end int64) span {
	return span{
		TraceID: b.Trace.Trace, SpanID: id, TraceState: b.State, Flags: flagSampled | flagKnowsRemote, Name: name, Kind: kindInternal,
		Start: uint64(start + b.Offset), End: uint64(end + b.Offset), //nolint:gosec // they are after 1970
	}
}

func texts(of map[string]string) []keyValue {
	all := []keyValue{}
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, keyValue{key, anyValue{Text: of[key]}})
	}
	return all
}

func numbers(of map[string]int64) (all []keyValue) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		n := of[key]
		all = append(all, keyValue{key, anyValue{Number: &n}})
	}
	return all
}
