package otlp

import "github.com/scidex-ai/scidex-oci/runner/observe/spans"

// The messages are those of opentelemetry/proto/collector/trace/v1, with the names that they have in JSON.

type request struct {
	ResourceSpans []resourceSpans `json:"resourceSpans"`
}

type resourceSpans struct {
	Resource   attributes   `json:"resource"`
	ScopeSpans []scopeSpans `json:"scopeSpans"`
}

type attributes struct {
	Attributes []keyValue `json:"attributes"`
}

type scopeSpans struct {
	Scope scope  `json:"scope"`
	Spans []span `json:"spans"`
}

type scope struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

type span struct {
	TraceID    string     `json:"traceId"`
	SpanID     string     `json:"spanId"`
	TraceState string     `json:"traceState,omitempty"`
	Parent     string     `json:"parentSpanId,omitempty"`
	Flags      uint32     `json:"flags"`
	Name       string     `json:"name"`
	Kind       int        `json:"kind"`
	Start      uint64     `json:"startTimeUnixNano,string"`
	End        uint64     `json:"endTimeUnixNano,string"`
	Attributes []keyValue `json:"attributes"`
	Status     *status    `json:"status,omitempty"`
}

type status struct {
	Message string `json:"message"`
	Code    int    `json:"code"`
}

type keyValue struct {
	Key   string   `json:"key"`
	Value anyValue `json:"value"`
}

type anyValue struct {
	Text   string `json:"stringValue,omitempty"` // of a value without Number
	Number *int64 `json:"intValue,omitempty,string"`
}

const (
	kindInternal = 1
	statusError  = 2

	flagSampled     = 0x1
	flagKnowsRemote = 0x100
	flagRemote      = 0x200 // its parent is of another process
)

// newRequest is the message for traces.
func newRequest(s Settings, traces []spans.Trace) request {
	var all []span
	for _, t := range traces {
		all = append(all, spansOf(t)...)
	}
	return request{[]resourceSpans{{
		Resource:   attributes{texts(s.Resource)},
		ScopeSpans: []scopeSpans{{Scope: scope{"scidex-oci", s.Version}, Spans: all}},
	}}}
}
