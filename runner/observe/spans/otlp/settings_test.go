package otlp

import (
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

func TestReadSettings(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		url  string
		says string // empty: it is read
	}{
		"default":     {nil, "http://localhost:4318/v1/traces", ""},
		"all signals": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "https://h/base/"}, "https://h/base/v1/traces", ""},
		"traces":      {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://h/own", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://other"}, "http://h/own", ""},
		"no scheme":   {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "h:4318"}, "", "OTEL_EXPORTER_OTLP_ENDPOINT is no URL"},
		"protocol":    {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"}, "", `"grpc"; give http/protobuf`},
		"compression": {map[string]string{"OTEL_EXPORTER_OTLP_COMPRESSION": "zstd"}, "", `"zstd"; give gzip`},
		"headers":     {map[string]string{"OTEL_EXPORTER_OTLP_HEADERS": "s3cret"}, "", "give NAME=VALUE"},
		"authority":   {map[string]string{"OTEL_EXPORTER_OTLP_CERTIFICATE": "/dev/null"}, "", "no certificate in PEM"},
		"key alone":   {map[string]string{"OTEL_EXPORTER_OTLP_CLIENT_KEY": "/nowhere"}, "", "_CLIENT_KEY"},
		"bytes":       {map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "a=%ff"}, "", "is not UTF-8"},
		"resource":    {map[string]string{"OTEL_RESOURCE_ATTRIBUTES": "a"}, "", "OTEL_RESOURCE_ATTRIBUTES"},
	} {
		s, err := ReadSettings(func(name string) string { return test.env[name] }, "v1")
		if test.says == "" && (err != nil || s.URL != test.url) {
			t.Errorf("%s: %q, %v, want %q", name, s.URL, err, test.url)
		}
		if test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "s3cret")) {
			t.Errorf("%s: %v, want %q", name, err, test.says)
		}
	}
}

// TestReadNamedFiles: no file that a setting names makes a run wait, or takes all its memory.
func TestReadNamedFiles(t *testing.T) {
	large, fifo := filepath.Join(t.TempDir(), "large"), filepath.Join(t.TempDir(), "fifo")
	err := os.WriteFile(large, nil, 0o600)
	if err := errors.Join(err, os.Truncate(large, maxPEM+1), unix.Mkfifo(fifo, 0o600)); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{large: "more than 16MiB", fifo: "PEM"} {
		for _, names := range [][]string{{"CERTIFICATE"}, {"CLIENT_CERTIFICATE", "CLIENT_KEY"}} {
			env := map[string]string{}
			for _, name := range names {
				env["OTEL_EXPORTER_OTLP_"+name] = path
			}
			_, err := ReadSettings(func(name string) string { return env[name] }, "v1") // it does not wait for a writer of the FIFO
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s of %v: %v, want %q", path, names, err, says)
			}
		}
	}
}

func TestRetryAfter(t *testing.T) {
	for text, want := range map[string]time.Duration{"": 0, "3": 3 * time.Second, "-1": 0, "Wed, 21 Oct 2026 07:28:00 GMT": 0, "99999999999": 0} {
		if got := retryAfter(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// TestTree: a phase is below the one of its row that is around it, else below the run, and the analysis below its phase.
func TestTree(t *testing.T) {
	caller, named := spans.NewID(), spans.NewID()
	got := spansOf(spans.Trace{
		Trace: spans.NewID() + spans.NewID(), Root: spans.NewID(), Parent: caller, Offset: 1000, Named: map[string]string{spans.AnalysisPhase: named},
		Phases: []trace.Span{
			{Lane: trace.Analysis, Name: "analysis", Start: 25, End: 29},
			{Lane: trace.Run, Name: "inner", Start: 10, End: 15},
			{Lane: trace.Run, Name: "outer", Start: 10, End: 20},
			{Lane: trace.Run, Name: spans.AnalysisPhase, Start: 20, End: 30},
			{Lane: trace.Run, Name: spans.AnalysisPhase, Start: 40, End: 50},
			{Lane: trace.Supervisor, Name: "other row", Start: 12, End: 60},
		},
	})
	ids := map[string]string{caller: "caller"}
	var lines []string
	for _, s := range got {
		id := hex.EncodeToString(s.SpanId)
		if _, twice := ids[id]; twice {
			t.Errorf("the id %s is there twice", id)
		}
		ids[id] = s.Name
		lines = append(lines, s.Name+" < "+ids[hex.EncodeToString(s.ParentSpanId)])
	}
	want := "scidex-oci run < caller, outer < scidex-oci run, inner < outer, other row < scidex-oci run, run the analysis < scidex-oci run, " +
		"analysis < run the analysis, run the analysis < scidex-oci run"
	if all := strings.Join(lines, ", "); all != want {
		t.Errorf("%s\nwant %s", all, want)
	}
	if got[0].StartTimeUnixNano != 1010 || got[0].EndTimeUnixNano != 1060 || hex.EncodeToString(got[4].SpanId) != named {
		t.Errorf("the run is from %d to %d, its analysis %s", got[0].StartTimeUnixNano, got[0].EndTimeUnixNano, got[4].Name)
	}
}
