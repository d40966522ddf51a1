// Package metrics counts what a worker does, and writes it in the text format of Prometheus. The values of its labels are known
// beforehand, or are names of classes: nothing identifies an analysis.
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
	Classes  []string          // taken
	Load     func() worker.Load
	// Depth counts the jobs of the queue, Workers are those with a lease or jobs.
	Depth   func(context.Context) ([]queue.ClassDepth, error)
	Workers func(context.Context) ([]queue.Worker, error)
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

	all        runs
	classes    map[string]runs
	files      *count
	bytes      *count
	superseded *count
	rescued    *count
	unsaved    *count
}

// New returns metrics with all counts at zero.
func New(s Source) *Metrics {
	m := &Metrics{depth: &depth{ask: s.count}, began: time.Now()}
	version := level{labeled("version", s.Version, "commit", s.Commit, "goversion", s.GoVersion), func() (float64, bool) { return 1, true }}
	m.add(gauge, "scidex_oci_build_info", "The version of scidex-oci that this is, as labels; the value is 1.", version)
	m.ofQueue()
	m.ofWorker(s)
	m.ofRuns()
	m.ofRunsByClass(s)
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
	m.all = newRuns()
	m.addRuns("scidex_oci_worker_", "", m.all)
	m.files = m.counter("scidex_oci_worker_harvest_files_total", "Outputs that were harvested.")
	m.bytes = m.counter("scidex_oci_worker_harvest_bytes_total", "Bytes of the outputs that were harvested.")
	m.superseded = m.counter("scidex_oci_worker_superseded_total", "Attempts that another worker had been given before they ended here.")
	m.rescued = m.counter("scidex_oci_worker_rescued_total", "Analyses of other workers, whose leases had run out, that this worker gave back to the queue.")
	m.unsaved = m.counter("scidex_oci_worker_commit_failures_total", "Attempts whose end could not be committed.")
}

// ofRunsByClass adds the same by class under names of their own: one more label would change what rules for the others mean.
func (m *Metrics) ofRunsByClass(s Source) {
	m.classes = map[string]runs{}
	var running []metric
	var all []runs
	for _, class := range s.Classes {
		m.classes[class] = newRuns("class", class)
		all = append(all, m.classes[class])
		running = append(running, level{labeled("class", class), func() (float64, bool) { return float64(s.Load().Classes[class]), true }})
	}
	m.add(gauge, "scidex_oci_worker_class_running_jobs", "How many analyses of each of its classes the worker has in hand.", running...)
	m.addRuns("scidex_oci_worker_class_", ", by class", all...)
}

// Watch counts a step of an attempt.
func (m *Metrics) Watch(p worker.Progress) {
	m.all.watch(p)
	if of, ok := m.classes[p.Class]; ok {
		of.watch(p)
	}
	switch p.Step {
	case worker.Harvested:
		m.files.add(p.Files)
		m.bytes.add(p.Bytes)
	case worker.Ended:
		if p.Err != nil {
			m.unsaved.add(1)
		}
	case worker.Superseded:
		m.superseded.add(1)
	default:
	}
}

// Rescued counts analyses of a worker whose lease had run out.
func (m *Metrics) Rescued(analyses int) { m.rescued.add(int64(analyses)) }

// Text is all metrics. ctx bounds the query of the queue.
func (m *Metrics) Text(ctx context.Context) []byte {
	m.depth.refresh(ctx)
	var text bytes.Buffer
	for _, f := range m.families {
		f.write(&text)
	}
	return text.Bytes()
}
