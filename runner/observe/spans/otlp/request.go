package otlp

import (
	"encoding/base64"
	"encoding/hex"
	"maps"
	"slices"

	collectorv1 "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/slim/otlp/common/v1"
	resourcev1 "go.opentelemetry.io/proto/slim/otlp/resource/v1"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

// newRequest is the message for traces.
func newRequest(s Settings, traces []spans.Trace) *collectorv1.ExportTraceServiceRequest {
	var all []*tracev1.Span
	for _, t := range traces {
		all = append(all, spansOf(t)...)
	}
	return &collectorv1.ExportTraceServiceRequest{ResourceSpans: []*tracev1.ResourceSpans{{
		Resource:   &resourcev1.Resource{Attributes: texts(s.Resource)},
		ScopeSpans: []*tracev1.ScopeSpans{{Scope: &commonv1.InstrumentationScope{Name: "scidex-oci", Version: s.Version}, Spans: all}},
	}}}
}

// marshal makes the body of a request.
func (s Settings) marshal(traces []spans.Trace) ([]byte, error) {
	r := newRequest(s, traces)
	if !s.JSON {
		return proto.Marshal(r)
	}
	for _, one := range r.ResourceSpans[0].ScopeSpans[0].Spans {
		one.TraceId, one.SpanId, one.ParentSpanId = hexInJSON(one.TraceId), hexInJSON(one.SpanId), hexInJSON(one.ParentSpanId)
	}
	return protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(r) // numbers, too, are OTLP's
}

// hexInJSON returns the bytes whose base64 is an id in hexadecimal: OTLP's JSON has that where protojson writes base64.
func hexInJSON(id []byte) []byte {
	raw, _ := base64.StdEncoding.DecodeString(hex.EncodeToString(id)) // 16 or 32 digits, so whole groups of four
	return raw
}

// idOf reads an id of hexadecimal digits; nil, so that the field is left out, if it is none.
func idOf(digits string) []byte {
	raw, err := hex.DecodeString(digits)
	if err != nil {
		return nil
	}
	return raw
}

func texts(of map[string]string) (all []*commonv1.KeyValue) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_StringValue{StringValue: of[key]}}})
	}
	return all
}

func numbers(of map[string]int64) (all []*commonv1.KeyValue) {
	for _, key := range slices.Sorted(maps.Keys(of)) {
		all = append(all, &commonv1.KeyValue{Key: key, Value: &commonv1.AnyValue{Value: &commonv1.AnyValue_IntValue{IntValue: of[key]}}})
	}
	return all
}
