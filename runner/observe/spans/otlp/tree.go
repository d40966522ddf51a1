package otlp

import (
	"cmp"
	"slices"

	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"

	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// tree makes the spans of a run: that of the whole, and one for each phase below the phase of its row that is around it.
type tree struct {
	spans.Trace
	used   map[string]bool // phases that have had the id of their name
	around map[trace.Lane][]*tracev1.Span
}

// flagSampled is that of the W3C's trace context.
const flagSampled = 0x1

// wholeName is the name of the span of a whole run.
const wholeName = "scidex-oci run"

func spansOf(t spans.Trace) []*tracev1.Span {
	phases := slices.Clone(t.Phases)
	// Of two that start together the longer one is around the other.
	slices.SortStableFunc(phases, func(a, b trace.Span) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End))
	})
	b := tree{t, map[string]bool{}, map[trace.Lane][]*tracev1.Span{}}
	all := []*tracev1.Span{b.whole(phases)}
	for _, p := range phases {
		all = append(all, b.phase(p))
	}
	return all
}

// whole is the span of the run, from the first start to the last end.
func (b tree) whole(phases []trace.Span) *tracev1.Span {
	var start, end int64
	for i, p := range phases {
		if i == 0 {
			start = p.Start
		}
		end = max(end, p.End)
	}
	s := b.span(b.Root, wholeName, start, end)
	if s.ParentSpanId = idOf(b.Parent); len(s.ParentSpanId) > 0 {
		s.Flags |= uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_IS_REMOTE_MASK)
	}
	s.Attributes = append(texts(b.Text), numbers(b.Numbers)...)
	if b.Failed != "" {
		s.Status = &tracev1.Status{Message: b.Failed, Code: tracev1.Status_STATUS_CODE_ERROR}
	}
	return s
}

func (b tree) phase(p trace.Span) *tracev1.Span {
	s := b.span(b.id(p), p.Name, p.Start, p.End)
	s.Attributes = texts(map[string]string{"scidex_oci.row": p.Lane.Name()})
	open := b.around[p.Lane]
	for len(open) > 0 && open[len(open)-1].EndTimeUnixNano < s.EndTimeUnixNano {
		open = open[:len(open)-1]
	}
	switch {
	case len(open) > 0:
		s.ParentSpanId = open[len(open)-1].SpanId
	case p.Lane == trace.Analysis && b.used[spans.AnalysisPhase]:
		s.ParentSpanId = idOf(b.Named[spans.AnalysisPhase])
	default:
		s.ParentSpanId = idOf(b.Root)
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
func (b tree) span(id, name string, start, end int64) *tracev1.Span {
	return &tracev1.Span{
		TraceId: idOf(b.Trace.Trace), SpanId: idOf(id), TraceState: b.State, Name: name, Kind: tracev1.Span_SPAN_KIND_INTERNAL,
		Flags:             flagSampled | uint32(tracev1.SpanFlags_SPAN_FLAGS_CONTEXT_HAS_IS_REMOTE_MASK),
		StartTimeUnixNano: uint64(start + b.Offset), EndTimeUnixNano: uint64(end + b.Offset), //nolint:gosec // they are after 1970
	}
}
