package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// asked is the answer to a GET.
func asked(t *testing.T, url string) (code int, body string) {
	t.Helper()
	r, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	raw, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(raw)
}

// metric is the value of one in an exposition; -1 if it is missing.
func metric(t *testing.T, text, name string) float64 {
	t.Helper()
	_, after, found := strings.Cut("\n"+text, "\n"+name+" ")
	if !found {
		return -1
	}
	value, _, _ := strings.Cut(after, "\n")
	v, err := strconv.ParseFloat(value, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// serving waits for the address at which a worker serves its metrics.
func (w *hosted) serving() (url string) {
	w.t.Helper()
	address := regexp.MustCompile(`"serving metrics","address":"([^"]+)"`)
	until(w.t, hangTimeout, "it serves its metrics", func() bool {
		found := address.FindStringSubmatch(readFile(w.t, w.log))
		if found != nil {
			url = "http://" + found[1]
		}
		return found != nil
	})
	return url
}

// The metrics of a worker are right, and its log has a line for each attempt.
func TestQueueMetrics(t *testing.T) {
	h, db := inQueue(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	good := h.submit("good", "echo hello >out; echo x >y")
	h.mustRefuse([]string{"worker", "--metrics", taken.Addr().String()}, "--metrics", taken.Addr().String(), "another program has this port", "give another one")
	h.mustRefuse([]string{"worker", "--metrics", "9090"}, "HOST:PORT")
	if got := h.attempts(db, good); got != "queued" {
		t.Errorf("a worker that could not serve its metrics has taken an analysis: %q", got)
	}
	bad := h.submit("bad", "exit 3")
	h.submit("alone", "true", "--class", "gpu") // which no worker takes
	refused := h.submit("refused", "true", "--secret", "NOT_SET_ANYWHERE", "--retries", "0")
	end := h.flag()
	runs := h.submit("runs", awaited, "--input", end.input(), "--memory", "64MiB", "--cpus", "0.5")

	w := h.worker("--jobs", "4", "--total-memory", "16GiB", "--total-cpus", "4", "--metrics", "127.0.0.1:0", "--log-format", "json")
	url := w.serving()
	for id, state := range map[string]string{good: "complete", bad: "failed", refused: "error", runs: "running"} {
		h.comes(db, id, state)
	}
	const ended = "scidex_oci_worker_runs_total"
	wants := map[string]float64{
		ended + `{reason="exit",state="complete"}`:               1,
		ended + `{reason="exit",state="failed"}`:                 1,
		ended + `{reason="request",state="error"}`:               1,
		`scidex_oci_worker_phase_seconds_count{phase="start"}`:   3,
		`scidex_oci_queue_jobs{state="running"}`:                 1,
		"scidex_oci_queue_up":                                    1,
		`scidex_oci_queue_workers{lease="held"}`:                 1,
		`scidex_oci_queue_workers{lease="silent"}`:               0,
		`scidex_oci_queue_workers{lease="none"}`:                 0,
		"scidex_oci_worker_rescued_total":                        0,
		`scidex_oci_queue_jobs{state="waiting"}`:                 1,
		`scidex_oci_queue_jobs{state="unplaced"}`:                0,
		`scidex_oci_queue_jobs{state="retrying"}`:                0,
		`scidex_oci_queue_jobs{state="scheduled"}`:               0,
		"scidex_oci_worker_draining":                             0,
		"scidex_oci_worker_capacity_jobs":                        4,
		"scidex_oci_worker_running_jobs":                         1,
		"scidex_oci_worker_capacity_memory_bytes":                16 << 30,
		"scidex_oci_worker_granted_memory_bytes":                 64 << 20,
		"scidex_oci_worker_capacity_cpus":                        4,
		"scidex_oci_worker_granted_cpus":                         0.5,
		"scidex_oci_worker_results_waiting":                      0,
		"scidex_oci_worker_queue_wait_seconds_count":             4,
		`scidex_oci_worker_phase_seconds_count{phase="run"}`:     2,
		`scidex_oci_worker_phase_seconds_count{phase="harvest"}`: 2,
		`scidex_oci_worker_phase_seconds_count{phase="commit"}`:  2,
		`scidex_oci_worker_phase_seconds_count{phase="clean"}`:   3, // of the refused one, too
		"scidex_oci_worker_harvest_files_total":                  2,
		"scidex_oci_worker_harvest_bytes_total":                  8,
		"scidex_oci_worker_superseded_total":                     0,
		"scidex_oci_worker_commit_failures_total":                0,

		`scidex_oci_queue_class_jobs{class="default",state="waiting"}`:                     0,
		`scidex_oci_queue_class_jobs{class="default",state="running"}`:                     1,
		`scidex_oci_queue_class_jobs{class="gpu",state="waiting"}`:                         1,
		`scidex_oci_queue_class_oldest_seconds{class="default"}`:                           0,
		`scidex_oci_worker_class_running_jobs{class="default"}`:                            1,
		`scidex_oci_worker_class_queue_wait_seconds_count{class="default"}`:                4,
		`scidex_oci_worker_class_phase_seconds_count{class="default",phase="start"}`:       3,
		`scidex_oci_worker_class_runs_total{class="default",reason="exit",state="failed"}`: 1,
		`scidex_oci_worker_class_runs_total{class="gpu",reason="exit",state="failed"}`:     -1, // it is not for the worker
	}
	var text string
	var differ []string
	defer func() {
		if len(differ) > 0 {
			t.Errorf("%q", differ)
		}
	}()
	until(t, hangTimeout, "all that has ended is counted", func() bool { // the gauges come after the counters
		_, text = asked(t, url+"/metrics")
		differ = nil
		for name, want := range wants {
			if got := metric(t, text, name); got != want {
				differ = append(differ, fmt.Sprintf("%s is %v, want %v", name, got, want))
			}
		}
		return len(differ) == 0
	})
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("lint: %v, %v", problems, err)
	}
	if metric(t, text, `scidex_oci_queue_class_oldest_seconds{class="gpu"}`) <= 0 {
		t.Errorf("the oldest job of a class without a worker has no age:\n%s", text)
	}
	for _, id := range []string{good, bad, h.run} {
		if strings.Contains(text, id) {
			t.Errorf("the metrics have %q", id)
		}
	}
	if code, body := asked(t, url+"/healthz"); code != 200 {
		t.Errorf("healthz: %d %s", code, body)
	}
	w.signal(syscall.SIGTERM)
	until(t, hangTimeout, "it is not healthy while it drains", func() bool {
		code, _ := asked(t, url+"/healthz")
		return code == 503
	})
	if _, text := asked(t, url+"/metrics"); metric(t, text, "scidex_oci_worker_draining") != 1 {
		t.Error("its metrics do not say that it drains")
	}
	end.raise()
	<-w.ended
	if code := w.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("it ended with %d", code)
	}
	h.show(runs).expect(t, "complete", "exit", 0)
	w.expectLines(map[string]string{good: "complete exit", bad: "failed exit", refused: "error request", runs: "complete exit"})
}

// expectLines are those of a worker's log of the attempts that have ended, with their states and reasons.
func (w *hosted) expectLines(want map[string]string) {
	w.t.Helper()
	got := map[string]string{}
	for text := range strings.Lines(readFile(w.t, w.log)) {
		var line struct {
			Message       string `json:"msg"`
			ID            string
			Attempt       int
			State, Reason string
			Wait          *int64
			Duration      int64
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			w.t.Errorf("%v: %s", err, text)
		}
		if line.Message != "ended" {
			continue
		}
		if _, twice := got[line.ID]; twice || line.Attempt != 1 || line.Wait == nil || *line.Wait <= 0 || line.Duration <= 0 {
			w.t.Errorf("the log has %s", text)
		}
		got[line.ID] = line.State + " " + line.Reason
	}
	for id, end := range want {
		if got[id] != end {
			w.t.Errorf("the log has %q of %s, want %q", got[id], id, end)
		}
	}
}
