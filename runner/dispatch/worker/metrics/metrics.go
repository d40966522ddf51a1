// Package metrics counts what a worker does, and writes it in the text format of Prometheus. It has only labels whose values
// are known beforehand: nothing identifies an analysis.
package metrics

import (
	"bytes"
	"context"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/capacity"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
)

// Source is read whenever the metrics are written, by several goroutines.
type Source struct {
	Capacity capacity.Capacity // of the worker
	Jobs     int               // taken at once
	Load     func() worker.Load
	// Depth counts the queue.
	Depth func(context.Context) (queue.Depth, error)
	// Waiting counts the pending results below the root.
	Waiting  func() (int, error)
	Draining func() bool

	Version, Commit, GoVersion string // of this program
}

// Metrics are those of one worker.
type Metrics struct {
	families []family
	depth    *depth
	began    time.Time

	wait       *durations
	phases     [len(phases)]*durations
	ends       map[end]*count
	files      *count
	bytes      *count
	superseded *count
	unsaved    *count
}

// phases are those of an attempt, in their order, each up to a step.
var phases = [...]struct {
	name     string
	from, to worker.Step
}{
	{"start", worker.Taken, worker.Started},
	{"run", worker.Started, worker.Exited},
	{"harvest", worker.Exited, worker.Harvested},
	{"commit", worker.Harvested, worker.Committed},
	{"clean", worker.Committed, worker.Ended},
}

// New returns metrics with all counts at zero.
func New(s Source) *Metrics {
	m := &Metrics{depth: &depth{ask: s.Depth}, began: time.Now(), ends: map[end]*count{}}
	version := level{labeled("version", s.Version, "commit", s.Commit, "goversion", s.GoVersion), func() (float64, bool) { return 1, true }}
	m.add(gauge, "scidex_oci_build_info", "The version of scidex-oci that this is, as labels; the value is 1.", version)
	m.ofQueue()
	m.ofWorker(s)
	m.ofRuns()
	m.ofProcess()
	return m
}

// add adds a family.
func (m *Metrics) add(k kind, name, help string, all ...metric) {
	m.families = append(m.families, family{name, k, help, all})
}

// gauge adds one that is always known.
func (m *Metrics) gauge(name, help string, value func() float64) {
	m.add(gauge, name, help, level{read: func() (float64, bool) { return value(), true }})
}

// counter adds one without labels.
func (m *Metrics) counter(name, help string) *count {
	c := &count{}
	m.add(counter, name, help, c)
	return c
}

func (m *Metrics) ofWorker(s Source) {
	m.gauge("scidex_oci_worker_draining", "Whether the worker takes no more jobs.", func() float64 { return truth(s.Draining()) })
	m.gauge("scidex_oci_worker_capacity_jobs", "How many analyses the worker takes at once.", func() float64 { return float64(s.Jobs) })
	m.gauge("scidex_oci_worker_running_jobs", "How many analyses the worker has in hand, from their turn to their end.",
		func() float64 { return float64(s.Load().Running) })
	if whole := s.Capacity.Memory; whole > 0 {
		m.gauge("scidex_oci_worker_capacity_memory_bytes", "What all analyses together may be granted.", func() float64 { return float64(whole) })
		m.gauge("scidex_oci_worker_granted_memory_bytes", "The memory limits of the analyses that run or are prepared, together.",
			func() float64 { return float64(whole - s.Load().Free.Memory) })
	}
	if whole := s.Capacity.CPUs; whole > 0 {
		m.gauge("scidex_oci_worker_capacity_cpus", "The cores that all analyses together may be granted.", func() float64 { return whole })
		m.gauge("scidex_oci_worker_granted_cpus", "The CPU limits of the analyses that run or are prepared, together.",
			func() float64 { return max(0, whole-s.Load().Free.CPUs) })
	}
	m.add(gauge, "scidex_oci_worker_results_waiting", "How many results wait below the worker's root to be committed.",
		level{read: func() (float64, bool) {
			n, err := s.Waiting()
			return float64(n), err == nil
		}})
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

func (m *Metrics) ofRuns() {
	m.wait = &durations{}
	m.add(histogram, "scidex_oci_worker_queue_wait_seconds", "From the submission of an attempt to its turn on this worker.", m.wait)
	var took, ended []metric
	for i, p := range phases {
		m.phases[i] = &durations{labels: labeled("phase", p.name)}
		took = append(took, m.phases[i])
	}
	m.add(histogram, "scidex_oci_worker_phase_seconds", "How long the phases of attempts took.", took...)
	for _, e := range ends() { // from the start: the first of a kind is an increase, too
		m.ends[e] = &count{labels: labeled("state", string(e.state), "reason", string(e.reason))}
		ended = append(ended, m.ends[e])
	}
	m.add(counter, "scidex_oci_worker_runs_total", "Attempts that have ended on this worker, by state and reason.", ended...)
	m.files = m.counter("scidex_oci_worker_harvest_files_total", "Outputs that were harvested.")
	m.bytes = m.counter("scidex_oci_worker_harvest_bytes_total", "Bytes of the outputs that were harvested.")
	m.superseded = m.counter("scidex_oci_worker_superseded_total", "Attempts that another worker had been given before they ended here.")
	m.unsaved = m.counter("scidex_oci_worker_commit_failures_total", "Attempts whose end could not be committed.")
}

// Watch counts a step of an attempt.
func (m *Metrics) Watch(p worker.Progress) {
	switch p.Step {
	case worker.Taken:
		m.wait.add(p.Wait())
	case worker.Harvested:
		m.files.add(p.Files)
		m.bytes.add(p.Bytes)
	case worker.Ended:
		m.ends[endOf(p.Result)].add(1)
		if p.Err != nil {
			m.unsaved.add(1)
		}
	case worker.Superseded:
		m.superseded.add(1)
	default:
	}
	for i, phase := range phases {
		if took, ok := p.Took(phase.from, phase.to); ok && p.Step == phase.to {
			m.phases[i].add(took)
		}
	}
}

// Text is all metrics. ctx bounds the query of the queue.
func (m *Metrics) Text(ctx context.Context) []byte {
	m.depth.refresh(ctx)
	var text bytes.Buffer
	for _, f := range m.families {
		f.write(&text)
	}
	return text.Bytes()
}
