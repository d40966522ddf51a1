package spans

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

const (
	aTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	aSpan  = "00f067aa0ba902b7"
)

func TestParse(t *testing.T) {
	for parent, want := range map[string]Context{
		"00-" + aTrace + "-" + aSpan + "-01":                   {Trace: aTrace, Span: aSpan, Sampled: true, State: "a=b"},
		"00-" + aTrace + "-" + aSpan + "-02":                   {Trace: aTrace, Span: aSpan, State: "a=b"},
		"cc-" + aTrace + "-" + aSpan + "-01-more":              {Trace: aTrace, Span: aSpan, Sampled: true, State: "a=b"},
		"00-" + aTrace + "-" + aSpan + "-01-more":              {},
		"ff-" + aTrace + "-" + aSpan + "-01":                   {},
		"00-" + aTrace + "-" + aSpan:                           {},
		"00-" + aTrace + "-" + aSpan + "-1":                    {},
		"00-" + aTrace[1:] + "-" + aSpan + "-01":               {},
		"00-" + aTrace + "-0000000000000000-01":                {},
		"00-00000000000000000000000000000000-" + aSpan + "-01": {},
		"00-4BF92F3577B34DA6A3CE929D0E0E4736-" + aSpan + "-01": {},
		"00-" + aTrace + "-" + aSpan + "-0g":                   {},
		"":                                                     {},
		"00-" + aTrace + "-" + aSpan + "-01\nOTHER=1":          {},
		"0-" + aTrace + "-" + aSpan + "-01":                    {},
	} {
		got, err := Parse(parent, "a=b")
		if got != want || (err == nil) != (want.Trace != "") {
			t.Errorf("%q: %+v, %v, want %+v", parent, got, err, want)
		}
	}
	if got, err := Parse("00-"+aTrace+"-"+aSpan+"-01", "a=b\nc"); got.State != "" || got.Trace == "" || err != nil {
		t.Errorf("of a tracestate that is no text: %+v, %v", got, err)
	}
}

func TestAsked(t *testing.T) {
	for _, test := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{}, false},
		{map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, true},
		{map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://x"}, true},
		{map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		{map[string]string{"OTEL_TRACES_EXPORTER": "console", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false},
		{map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false},
		{map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://x"}, false},
		{map[string]string{"TRACEPARENT": "00-" + aTrace + "-" + aSpan + "-01"}, false},
	} {
		if got := Asked(func(name string) string { return test.env[name] }); got != test.want {
			t.Errorf("%v: %v", test.env, got)
		}
	}
}

// TestQueue: runs without spans have no variables, and what waits is bounded.
func TestQueue(t *testing.T) {
	var none *Queue
	if r := none.Begin(Context{}); r.Recorded() || r.Variables(AnalysisPhase) != nil {
		t.Errorf("a run without spans has %v", r.Variables(AnalysisPhase))
	}
	ready := 0
	q := &Queue{Ready: func() { ready++ }}
	many := make([]trace.Span, waitMost/2+1)
	for range 3 {
		q.Put(q.Begin(Context{}).Finish(many, About{}))
	}
	if waiting, dropped := q.Take(); len(waiting) != 1 || dropped != 2 || ready != 1 {
		t.Errorf("%d wait, %d were dropped, and %d were ready", len(waiting), dropped, ready)
	}
	q.Put(q.Begin(Context{}).Finish(nil, About{}))
	if waiting, dropped := q.Take(); len(waiting) != 1 || dropped != 0 || ready != 2 {
		t.Errorf("then %d wait, %d were dropped, and %d were ready", len(waiting), dropped, ready)
	}
}

// A run of a job is below the span of who submitted it, and not below that of the worker.
func TestBegin(t *testing.T) {
	process, own := Context{Trace: aTrace, Span: aSpan, Sampled: true}, Context{Trace: NewID() + NewID(), Span: NewID(), Sampled: true}
	q := &Queue{Parent: process}
	for given, want := range map[Context]Context{{}: process, own: own} {
		if got := q.Begin(given).Finish(nil, About{}); got.Trace != want.Trace || got.Parent != want.Span {
			t.Errorf("below %+v it is %+v, want %+v", given, got, want)
		}
	}
}
