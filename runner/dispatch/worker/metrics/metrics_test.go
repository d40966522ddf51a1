package metrics

import (
	"context"
	"errors"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
)

var update = flag.Bool("update", false, "write the golden file anew")

// source is a worker that has half of its memory left, and a queue.
func source() Source {
	return Source{
		Capacity: admission.Resources{Memory: 4 << 30, CPUs: 2}, Jobs: 3, Classes: []string{"default", "gpu"},
		Load: func() worker.Load {
			return worker.Load{Free: admission.Resources{Memory: 2 << 30, CPUs: 0.5}, Running: 2, Classes: map[string]int64{"gpu": 2}}
		},
		Depth: func(context.Context) ([]queue.ClassDepth, error) {
			return []queue.ClassDepth{
				{Class: "default", Depth: queue.Depth{Waiting: 6, Unplaced: 4, Retrying: 1, Running: 3}, Oldest: 90 * time.Second},
				{Class: "gpu", Depth: queue.Depth{Scheduled: 2}},
				{Class: queue.OtherClasses, Depth: queue.Depth{Waiting: 1}, Oldest: 1500 * time.Millisecond},
			}, nil
		},
		Workers: func(context.Context) ([]queue.Worker, error) {
			return []queue.Worker{{Lease: queue.Held}, {Lease: queue.NoLease, Jobs: 1}, {Lease: queue.Held}}, nil
		},
		Waiting: func() (int, error) { return 1, nil }, Draining: func() bool { return true },
		Version: "v1.2.3", Commit: "0123abc", GoVersion: "go1",
	}
}

// text is the answer to a scrape.
func (m *Metrics) text(t *testing.T) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.handler(slog.New(slog.DiscardHandler)).ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

// written are the metrics without those of the process, which differ each time.
func (m *Metrics) written(t *testing.T) string {
	t.Helper()
	var own strings.Builder
	for line := range strings.Lines(m.text(t)) {
		if strings.Contains(line, "scidex_oci_") {
			own.WriteString(line)
		}
	}
	return own.String()
}

// attempt passes the steps of an attempt, a second each, after it was queued for as long.
func (m *Metrics) attempt(class string, result result.Result, err error, through ...worker.Step) {
	queued := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := worker.Progress{Class: class, Queued: queued, Files: 2, Bytes: 300, Result: result, Err: err}
	for i, step := range through {
		p.Step, p.At[step] = step, queued.Add(time.Duration(i+1)*time.Second)
		m.Watch(p)
	}
}

// Everything that there is, as Prometheus reads it, and by its conventions.
func TestExposition(t *testing.T) {
	m := New(source())
	m.attempt("default", result.Result{Outcome: outcome.Outcome{State: outcome.Complete, Reason: outcome.ReasonExit}}, nil,
		worker.Taken, worker.Started, worker.Exited, worker.Harvested, worker.Committed, worker.Ended)
	m.attempt("gpu", result.Result{Outcome: outcome.Outcome{State: outcome.Error, Reason: outcome.ReasonCommit}}, errors.New("away"), worker.Taken, worker.Started, worker.Exited, worker.Ended)
	m.attempt("gpu", result.Result{}, nil, worker.Taken, worker.Started, worker.Superseded)
	m.Rescued(3)
	got := m.written(t)
	const golden = "testdata/metrics.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the metrics are not those of %s; -update writes it anew:\n%s", golden, got)
	}
	problems, err := promlint.New(strings.NewReader(m.text(t))).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
}

// Of the process there is what is known of every other, too, and it is true. Linux counts its processor time in hundredths of a second.
func TestProcess(t *testing.T) {
	text := New(source()).text(t)
	for name, least := range map[string]float64{
		"go_goroutines": 2, "go_memstats_heap_alloc_bytes": 10_000, "process_cpu_seconds_total": 0, "process_resident_memory_bytes": 1 << 20,
		"process_open_fds": 3, "process_max_fds": 10, "process_start_time_seconds": float64(time.Now().Add(-time.Hour).Unix()),
	} {
		_, after, _ := strings.Cut(text, "\n"+name+" ")
		value, _, _ := strings.Cut(after, "\n")
		if got, err := strconv.ParseFloat(value, 64); err != nil || got < least {
			t.Errorf("%s is %q", name, value)
		}
	}
}

// Values of labels are quoted as the format wants it.
func TestLabels(t *testing.T) {
	s := source()
	s.Version = "a\\b\"c\nd"
	m := New(s)
	if got := m.written(t); !strings.Contains(got, `version="a\\b\"c\nd"}`) {
		t.Error(got)
	}
	if _, err := promlint.New(strings.NewReader(m.text(t))).Lint(); err != nil {
		t.Error(err)
	}
}

// What nobody knows is left out, and no answer is taken for none.
func TestUnknown(t *testing.T) {
	s := source()
	s.Capacity = admission.Resources{}
	s.Waiting = func() (int, error) { return 0, errors.New("unreadable") }
	s.Workers = func(context.Context) ([]queue.Worker, error) { return nil, errors.New("away") }
	got := New(s).written(t)
	for _, name := range []string{"memory_bytes", "cpus", "results_waiting", "queue_jobs", "queue_class", "queue_workers"} {
		if strings.Contains(got, name) {
			t.Errorf("%s is there", name)
		}
	}
	if !strings.Contains(got, "scidex_oci_queue_up 0\n") {
		t.Error("the queue is up")
	}
}

// A class that the text format cannot have is left out, and takes no other with it.
func TestClassOfOtherBytes(t *testing.T) {
	s := source()
	s.Depth = func(context.Context) ([]queue.ClassDepth, error) {
		return []queue.ClassDepth{{Class: "\xff", Depth: queue.Depth{Waiting: 6}}, {Class: "gpu", Depth: queue.Depth{Waiting: 2}}}, nil
	}
	got := New(s).written(t)
	for _, line := range []string{`scidex_oci_queue_class_jobs{class="gpu",state="waiting"} 2`, `scidex_oci_queue_jobs{state="waiting"} 8`, "scidex_oci_worker_draining 1"} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("without %s:\n%s", line, got)
		}
	}
}

// The queue is asked once for all who scrape within seconds, anew after these, and not again for one who has gone.
func TestDepth(t *testing.T) {
	asked, away := int64(0), false
	d := &depth{ask: func(ctx context.Context) (counted, error) {
		asked++
		if away {
			return counted{}, errors.New("away")
		}
		return counted{classes: []queue.ClassDepth{{Depth: queue.Depth{Waiting: asked}}}}, ctx.Err()
	}}
	want := func(what string, waiting int64, up bool) {
		t.Helper()
		if last, known := d.read(); known != up || queue.Sum(last.classes).Waiting != waiting {
			t.Errorf("%s: %+v, %v, asked %d times", what, last, known, asked)
		}
	}
	want("at first", 0, false)
	d.refresh(t.Context())
	want("asked", 1, true)
	d.asked = time.Now().Add(time.Hour) // it is fresh, however slow this machine is
	d.refresh(t.Context())
	want("fresh", 1, true)
	d.asked = time.Now().Add(-fresh)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	d.refresh(gone)
	want("asked by one who has gone", 1, true)
	d.refresh(t.Context())
	want("asked anew", 3, true)
	d.asked, away = time.Now().Add(-fresh), true
	d.refresh(t.Context())
	want("away", 0, false)
}

// Every end that a result may have is counted as itself, and what is not known as another, so that labels stay few.
func TestEnds(t *testing.T) {
	for _, reason := range outcome.Reasons() {
		if !slices.ContainsFunc(ends(), func(e end) bool { return e.reason == reason }) {
			t.Errorf("%s is counted as another reason", reason)
		}
	}
	for res, want := range map[end]end{
		{outcome.Complete, outcome.ReasonExit}:       {outcome.Complete, outcome.ReasonExit},
		{outcome.Failed, "made up"}:                  {outcome.Failed, other},
		{outcome.Complete, outcome.ReasonStopped}:    {outcome.Complete, other},
		{outcome.Running, ""}:                        {outcome.Error, other},
		{outcome.Lost, outcome.ReasonSupervisorLost}: {outcome.Lost, outcome.ReasonSupervisorLost},
	} {
		if got := endOf(result.Result{Outcome: outcome.Outcome{State: res.state, Reason: res.reason}}); got != want {
			t.Errorf("%v is counted as %v, want %v", res, got, want)
		}
	}
}
