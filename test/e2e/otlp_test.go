package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// collector is a receiver of OTLP over HTTP.
type collector struct {
	t *testing.T
	*httptest.Server
	answer func(http.ResponseWriter, *http.Request) // nil: 200

	mu       sync.Mutex
	requests []received
}

type received struct {
	path   string
	header http.Header
	body   []byte
	at     time.Time
}

func newCollector(t *testing.T, start func(http.Handler) *httptest.Server, answer func(http.ResponseWriter, *http.Request)) *collector {
	t.Helper()
	c := &collector{t: t, answer: answer}
	c.Server = start(http.HandlerFunc(c.receive))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) receive(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.requests = append(c.requests, received{r.URL.Path, r.Header, body, time.Now()})
	c.mu.Unlock()
	if c.answer != nil {
		c.answer(w, r)
	}
}

func (c *collector) received() []received {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]received{}, c.requests...)
}

// otlpSpan is a span as OpenTelemetry's own types print it, with ids in hexadecimal.
type otlpSpan struct {
	TraceID, SpanID, ParentSpanID, TraceState, Name string
	Flags                                           int
	StartTimeUnixNano, EndTimeUnixNano              string
	Attributes                                      []otlpAttribute
	Status                                          struct {
		Message string
		Code    any
	}
}

type otlpAttribute struct {
	Key   string
	Value struct{ StringValue, IntValue string }
}

func (s otlpSpan) attribute(key string) string { return attributeOf(s.Attributes, key) }

func attributeOf(all []otlpAttribute, key string) string {
	for _, a := range all {
		if a.Key == key {
			return a.Value.StringValue + a.Value.IntValue
		}
	}
	return "-"
}

func (s otlpSpan) times() (start, end int64) {
	start, _ = strconv.ParseInt(s.StartTimeUnixNano, 10, 64)
	end, _ = strconv.ParseInt(s.EndTimeUnixNano, 10, 64)
	return start, end
}

// spans decodes a request by OpenTelemetry's own types.
func (r received) spans(t *testing.T) (resource []otlpAttribute, all []otlpSpan) {
	t.Helper()
	body, kind := r.body, r.header.Get("Content-Type")
	if r.header.Get("Content-Encoding") == "gzip" {
		plain, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if body, err = io.ReadAll(plain); err != nil {
			t.Fatal(err)
		}
	}
	text, err := decodeOTLP(kind, body)
	if err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	var request struct {
		ResourceSpans []struct {
			Resource   struct{ Attributes []otlpAttribute }
			ScopeSpans []struct {
				Scope struct{ Name, Version string }
				Spans []otlpSpan
			}
		}
	}
	if err := json.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	for _, of := range request.ResourceSpans {
		resource = of.Resource.Attributes
		for _, within := range of.ScopeSpans {
			all = append(all, within.Spans...)
		}
	}
	if kind == "application/x-protobuf" {
		for i := range all {
			for _, id := range []*string{&all[i].TraceID, &all[i].SpanID, &all[i].ParentSpanID} {
				raw, err := base64.StdEncoding.DecodeString(*id)
				if err != nil {
					t.Fatal(err)
				}
				*id = hex.EncodeToString(raw)
			}
		}
	}
	return resource, all
}

// decodeOTLP makes JSON of a request of that media type. A field that OpenTelemetry does not know is an error.
func decodeOTLP(kind string, body []byte) ([]byte, error) {
	var request collectorv1.ExportTraceServiceRequest
	switch kind {
	case "application/json": // it has ids in hexadecimal, which protojson reads as base64: this only says whether the fields are known
		return body, protojson.Unmarshal(body, &request)
	case "application/x-protobuf":
		if err := proto.Unmarshal(body, &request); err != nil {
			return nil, err
		}
		if err := onlyKnown(request.ProtoReflect()); err != nil {
			return nil, err
		}
		return protojson.Marshal(&request)
	}
	return nil, errors.New("no media type of OTLP")
}

// onlyKnown reports a field without a name, of a message or one within it.
func onlyKnown(m protoreflect.Message) (err error) {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("%s has unknown fields", m.Descriptor().FullName())
	}
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		if field.Message() == nil {
			return true
		}
		if !field.IsList() {
			err = onlyKnown(value.Message())
			return err == nil
		}
		for i := range value.List().Len() {
			if err = onlyKnown(value.List().Get(i).Message()); err != nil {
				return false
			}
		}
		return true
	})
	return err
}

// exporting sets where spans are sent.
func (h *harness) exporting(c *collector) { h.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL) }

const (
	callersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callersSpan  = "00f067aa0ba902b7"
)

// TestSpans: the phases of a run are spans below the caller's, those of the analysis and the hook are below theirs, and
// the receiver can read all with OpenTelemetry's own types.
func TestSpans(t *testing.T) {
	for name, settings := range map[string]map[string]string{
		"protobuf": {},
		"json":     {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/json"},
		"gzip":     {"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip"},
	} {
		t.Run(name, func(t *testing.T) { testSpans(t, settings) })
	}
}

func testSpans(t *testing.T, settings map[string]string) {
	h := newHarness(t)
	c := newCollector(t, httptest.NewServer, nil)
	h.exporting(c)
	for name, value := range settings {
		h.setenv(name, value)
	}
	h.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20a%2Cb, x-team=one")
	h.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test,service.name=other")
	h.setenv("OTEL_SERVICE_NAME", "mine")
	h.setenv("TRACEPARENT", "00-"+callersTrace+"-"+callersSpan+"-01")
	h.setenv("TRACESTATE", "vendor=1")
	seen := h.path("hook")
	before := time.Now()
	r := h.start("--post-process", h.write("hook.sh", "#!/bin/sh\nprintf '%s %s' \"$TRACEPARENT\" \"$TRACESTATE\" >"+seen+"\n", 0o755),
		"--", "sh", "-c", `printf '%s %s' "$TRACEPARENT" "$TRACESTATE" >seen; mv seen seen.txt`)
	r.expect(t, "complete", "exit", 0)
	requests := c.received()
	if len(requests) != 1 || requests[0].path != "/v1/traces" {
		t.Fatalf("there were %d requests", len(requests))
	}
	if got := requests[0].header; got.Get("Authorization") != "Bearer a,b" || got.Get("X-Team") != "one" {
		t.Errorf("headers: %v", got)
	}
	resource, all := requests[0].spans(t)
	for key, want := range map[string]string{"service.name": "mine", "deployment.environment.name": "test"} {
		if got := attributeOf(resource, key); got != want {
			t.Errorf("the resource has %s %q, want %q", key, got, want)
		}
	}
	byID, byName := map[string]otlpSpan{}, map[string]otlpSpan{}
	for _, s := range all {
		if _, twice := byID[s.SpanID]; twice || len(s.SpanID) != 16 {
			t.Errorf("the id of %+v is not its own", s)
		}
		byID[s.SpanID], byName[s.attribute("scidex_oci.row")+" "+s.Name] = s, s
	}
	whole := byName["- scidex-oci run"]
	for _, s := range all {
		start, end := s.times()
		if s.TraceID != callersTrace || s.TraceState != "vendor=1" || s.Flags&1 == 0 || start > end || start < before.Add(-time.Minute).UnixNano() || end > time.Now().UnixNano() {
			t.Errorf("a span is %+v", s)
		}
		if s.SpanID == whole.SpanID {
			continue
		}
		parent, there := byID[s.ParentSpanID]
		from, to := parent.times()
		if !there || start < from || s.attribute("scidex_oci.row") == parent.attribute("scidex_oci.row") && end > to {
			t.Errorf("%s is below %+v", s.Name, parent)
		}
	}
	if whole.ParentSpanID != callersSpan || whole.Flags&0x200 == 0 || whole.Status.Code != nil {
		t.Errorf("the run is %+v", whole)
	}
	for key, want := range map[string]string{"scidex_oci.run.id": r.ID, "scidex_oci.run.attempt": "1", "scidex_oci.run.state": "complete", "scidex_oci.run.reason": "exit"} {
		if got := whole.attribute(key); got != want {
			t.Errorf("the run has %s %q, want %q", key, got, want)
		}
	}
	executed := byName["launcher: run run the analysis"]
	if executed.ParentSpanID != whole.SpanID || byName["container: analysis analysis"].ParentSpanID != executed.SpanID {
		t.Errorf("the analysis is run by %+v", executed)
	}
	if got, want := h.mustRun("outputs", "cat", r.ID, "seen.txt").stdout, "00-"+callersTrace+"-"+executed.SpanID+"-01 vendor=1"; got != want {
		t.Errorf("the analysis has %q, want %q", got, want)
	}
	if got, want := readFile(t, seen), "00-"+callersTrace+"-"+byName["launcher: run hook and export"].SpanID+"-01 vendor=1"; got != want {
		t.Errorf("the hook has %q, want %q", got, want)
	}
	if text := fmt.Sprintf("%+v", all); strings.Contains(text, h.dir) || strings.Contains(text, "seen.txt") || strings.Contains(text, "Bearer") {
		t.Errorf("a span says too much: %s", text)
	}
}

// TestSpansOfBadEnds: the span of a run that failed has an error for its status, and no parent if none was given.
func TestSpansOfBadEnds(t *testing.T) {
	h := newHarness(t)
	c := newCollector(t, httptest.NewServer, nil)
	h.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", c.URL+"/own/path")
	h.setenv("TRACEPARENT", "00-00000000000000000000000000000000-"+callersSpan+"-01") // which is none
	h.start("--", "sh", "-c", "exit 3").expect(t, "failed", "exit", 3)
	requests := c.received()
	if len(requests) != 1 || requests[0].path != "/own/path" {
		t.Fatalf("there were %d requests", len(requests))
	}
	_, all := requests[0].spans(t)
	if whole := all[0]; whole.Name != "scidex-oci run" || whole.ParentSpanID != "" || whole.Status.Code != "STATUS_CODE_ERROR" || whole.Status.Message != "failed: exit" || len(whole.TraceID) != 32 {
		t.Errorf("the run is %+v", whole)
	}
}

// TestSpansNotRequested: without a request nothing is sent and the environment has nothing of it, and the context of a
// caller that does not record is passed on.
func TestSpansNotRequested(t *testing.T) {
	c := newCollector(t, httptest.NewServer, nil)
	parent := "00-" + callersTrace + "-" + callersSpan + "-"
	for name, test := range map[string]struct {
		env  map[string]string
		want string
	}{
		"nothing":       {nil, ""},
		"a parent":      {map[string]string{"TRACEPARENT": parent + "01"}, ""},
		"disabled":      {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_SDK_DISABLED": "true", "TRACEPARENT": parent + "01"}, ""},
		"no exporter":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_TRACES_EXPORTER": "none"}, ""},
		"not sampled":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "TRACEPARENT": parent + "00", "TRACESTATE": "a=b"}, parent + "00a=b"},
		"deterministic": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "TRACEPARENT": parent + "00", "SCIDEX_OCI_DETERMINISTIC": "true"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			for name, value := range test.env {
				h.setenv(name, value)
			}
			r := h.start("--", "sh", "-c", `printf %s "$TRACEPARENT$TRACESTATE" >seen`)
			r.expect(t, "complete", "exit", 0)
			if got := h.mustRun("outputs", "cat", r.ID, "seen").stdout; got != test.want {
				t.Errorf("the analysis has %q, want %q", got, test.want)
			}
		})
	}
	if got := len(c.received()); got != 0 {
		t.Errorf("%d requests were sent", got)
	}
}

// TestSpansReuse: another trace context does not make another action.
func TestSpansReuse(t *testing.T) {
	h := newHarness(t)
	c := newCollector(t, httptest.NewServer, nil)
	h.exporting(c)
	script := h.write("a.sh", "echo $TRACEPARENT; echo x >out\n", 0o644)
	args := flags("--reuse", "--data", "none", "--docs", "none", "--script", script)
	h.setenv("TRACEPARENT", "00-"+callersTrace+"-"+callersSpan+"-01")
	first := h.start(args...)
	h.setenv("TRACEPARENT", "00-11112222333344445555666677778888-"+callersSpan+"-01")
	again := h.start(args...)
	if again.ReusedFrom == "" || again.ID != first.ID {
		t.Errorf("the second is %s, reused from %q; the first was %s", again.ID, again.ReusedFrom, first.ID)
	}
}

// TestSpansReceivers: whatever a receiver does, a run ends as without one, and says once that its spans were not sent.
func TestSpansReceivers(t *testing.T) {
	tries := 0
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, test := range map[string]struct {
		url    string
		answer func(http.ResponseWriter, *http.Request)
		env    map[string]string
		says   string // empty: nothing is wrong
	}{
		"absent":  {url: gone.URL, says: "connection refused"},
		"hangs":   {answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, says: "within 500ms", env: map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "500"}},
		"refuses": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(400) }, says: "400"},
		"redirects": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, gone.URL, http.StatusTemporaryRedirect)
		}, says: "307"},
		"is always away":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Retry-After", "30"); w.WriteHeader(503) }, says: "503"},
		"closes in middle": {answer: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, says: "EOF"},
		"is away for a while": {answer: func(w http.ResponseWriter, _ *http.Request) {
			if tries++; tries < 3 {
				w.WriteHeader(503)
			}
		}, env: map[string]string{"OTEL_EXPORTER_OTLP_TIMEOUT": "60000"}},
		"speaks gRPC":   {env: map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, says: "http/protobuf"},
		"is no URL":     {url: "localhost:4318", says: "no URL of HTTP"},
		"of no headers": {env: map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"}, says: "NAME=VALUE"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			url := test.url
			if url == "" {
				url = newCollector(t, httptest.NewServer, test.answer).URL
			}
			h.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3000") // one answer comes within it
			h.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
			for name, value := range test.env {
				h.setenv(name, value)
			}
			out := h.do("run", "--json", "--", "sh", "-c", "exit 3")
			r, err := parseResult([]byte(out.stdout))
			if err != nil {
				t.Fatal(err)
			}
			r.expect(t, "failed", "exit", 3)
			if out.code != 3 || len(r.Warnings) != 0 {
				t.Errorf("it ended with %d, %q", out.code, r.Warnings)
			}
			warned := strings.Count(out.stderr, "the spans of runs were not sent")
			if (warned == 1) != (test.says != "") || !strings.Contains(out.stderr, test.says) || strings.Contains(out.stderr, "s3cret") {
				t.Errorf("it says %q, want %q", out.stderr, test.says)
			}
		})
	}
}

// TestSpansTLS: a receiver is trusted by the authority that the environment names.
func TestSpansTLS(t *testing.T) {
	h := newHarness(t)
	c := newCollector(t, httptest.NewTLSServer, nil)
	h.exporting(c)
	h.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "3000")
	out := h.mustRun("run", "--quiet", "--", "true")
	if !strings.Contains(out.stderr, "certificate") || len(c.received()) != 0 {
		t.Errorf("of an authority that it does not know it says %q", out.stderr)
	}
	authority := h.write("authority.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Certificate().Raw})), 0o644)
	h.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", authority)
	h.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000")
	if out := h.mustRun("run", "--quiet", "--", "true"); out.stderr != "" || len(c.received()) != 1 {
		t.Errorf("%d requests, %q", len(c.received()), out.stderr)
	}
	h.setenv("OTEL_EXPORTER_OTLP_CERTIFICATE", h.path("nowhere.pem"))
	if out := h.mustRun("run", "--quiet", "--", "true"); !strings.Contains(out.stderr, "OTEL_EXPORTER_OTLP_CERTIFICATE") {
		t.Errorf("it says %q", out.stderr)
	}
}

// wholeRuns are the spans of whole runs that have come.
func (c *collector) wholeRuns() (whole []otlpSpan) {
	c.t.Helper()
	for _, r := range c.received() {
		_, all := r.spans(c.t)
		for _, s := range all {
			if s.Name == "scidex-oci run" {
				whole = append(whole, s)
			}
		}
	}
	return whole
}

// runsOf are the states of the runs whose spans have come, by id.
func (c *collector) runsOf() map[string]string {
	c.t.Helper()
	runs := map[string]string{}
	for _, s := range c.wholeRuns() {
		runs[s.attribute("scidex_oci.run.id")] += s.attribute("scidex_oci.run.state")
	}
	return runs
}

// TestSpansOfMany: each line of a batch is a trace, sent by the end of the batch.
func TestSpansOfMany(t *testing.T) {
	h := newHarness(t)
	c := newCollector(t, httptest.NewServer, nil)
	h.exporting(c)
	lines := h.write("lines.jsonl", fmt.Sprintf(`{"id": %q, "command": ["sh", "-c", "echo $TRACEPARENT"]}`+"\n"+`{"id": %q, "command": ["false"]}`+"\n", h.id("a"), h.id("b")), 0o644)
	if out := h.do("batch", lines); out.code != 1 {
		t.Errorf("the batch ended with %d: %s", out.code, out.stderr)
	}
	if runs := c.runsOf(); len(runs) != 2 || runs[h.id("a")] != "complete" || runs[h.id("b")] != "failed" {
		t.Errorf("spans of %v have come", runs)
	}
	if got := h.mustRun("logs", h.id("a")).stdout; !regexp.MustCompile(`^00-[0-9a-f]{32}-[0-9a-f]{16}-01\n$`).MatchString(got) {
		t.Errorf("the analysis has %q", got)
	}
}

// TestSpansOfWorker: a worker sends the spans of ended runs while it goes on. Their parent is the span of the
// submitter; an invalid context is left out, also if another program wrote it into the queue.
func TestSpansOfWorker(t *testing.T) {
	h, db := inQueue(t)
	c := newCollector(t, httptest.NewServer, nil)
	plain := h.submit("plain", "true")
	h.setenv("TRACEPARENT", "00-"+callersTrace+"-"+callersSpan+"-01")
	h.setenv("TRACESTATE", "vendor=1")
	below, written := h.submit("below", `printf '%s %s' "$TRACEPARENT" "$TRACESTATE"`), h.submit("written", "true")
	db.query(t, "", fmt.Sprintf(`UPDATE scidex_oci.river_job SET args = jsonb_set(args, '{trace}', '{"parent": ["x"], "state": 7}') WHERE args ->> 'id' = '%s'`, written))
	h.setenv("TRACEPARENT", "00-"+callersTrace+"-"+callersSpan+"-01\nX: y")
	hostile := h.submit("hostile", "true")
	if got := db.query(t, "", fmt.Sprintf(`SELECT count(*) FROM scidex_oci.river_job WHERE args ->> 'id' IN ('%s', '%s') AND args ? 'trace'`, plain, hostile)); got != "0" {
		t.Errorf("%s jobs have a context that is none", got)
	}
	h.exporting(c)
	w := h.worker()
	ids := []string{plain, below, written, hostile}
	for _, id := range ids {
		h.comes(db, id, "complete")
	}
	until(t, hangTimeout, "their spans come", func() bool { return len(c.runsOf()) == len(ids) })
	for _, s := range c.wholeRuns() {
		trace, parent := s.TraceID == callersTrace && s.TraceState == "vendor=1", s.ParentSpanID
		if is := s.attribute("scidex_oci.run.id") == below; trace != is || (parent == callersSpan) != is || (parent == "") == is {
			t.Errorf("the span of %s is %+v", s.attribute("scidex_oci.run.id"), s)
		}
	}
	if got := w.mustRun("logs", below).stdout; !strings.HasPrefix(got, "00-"+callersTrace+"-") || !strings.HasSuffix(got, "-01 vendor=1") || strings.Contains(got, callersSpan) {
		t.Errorf("the analysis has %q", got)
	}
	w.end()
}
