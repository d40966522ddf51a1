// Package metrics counts what a worker does, and serves it to Prometheus. The values of its labels are known beforehand, or are
// names of classes: nothing identifies an analysis.
//
// It uses Prometheus' own library, which only scidex-oci-net links. By hand the same samples took 178 lines more, with a text format and
// readers of /proc; the library is 2.4 MB and initialises in 0.7 ms.
package metrics

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
)

// Source is read whenever the metrics are written, by several goroutines.
type Source struct {
	Capacity admission.Resources // of the worker
	Jobs     int                 // taken at once
	Classes  []string            // taken
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
	registry *prometheus.Registry
	depth    *depth

	all        runs
	classes    map[string]runs
	files      prometheus.Counter
	bytes      prometheus.Counter
	superseded prometheus.Counter
	rescued    prometheus.Counter
	unsaved    prometheus.Counter
}

// New returns metrics with all counts at zero.
func New(s Source) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), depth: &depth{ask: s.count}, classes: map[string]runs{}}
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		levels(m.depth.levels), worked(s),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "scidex_oci_build_info", Help: "The version of scidex-oci that this is, as labels; the value is 1.",
			ConstLabels: prometheus.Labels{"version": s.Version, "commit": s.Commit, "goversion": s.GoVersion},
		}, func() float64 { return 1 }),
	)
	m.ofRuns(s.Classes)
	return m
}

// ofRuns adds what is counted of attempts. By class it has names of its own: one more label would change what rules for the
// others mean.
func (m *Metrics) ofRuns(classes []string) {
	m.all = m.newRuns("scidex_oci_worker_", "")
	m.all.begin()
	byClass := m.newRuns("scidex_oci_worker_class_", ", by class", "class")
	for _, class := range classes {
		m.classes[class] = byClass.of(prometheus.Labels{"class": class})
		m.classes[class].begin()
	}
	m.files = m.counter("scidex_oci_worker_harvest_files_total", "Outputs that were harvested.")
	m.bytes = m.counter("scidex_oci_worker_harvest_bytes_total", "Bytes of the outputs that were harvested.")
	m.superseded = m.counter("scidex_oci_worker_superseded_total", "Attempts that another worker had been given before they ended here.")
	m.rescued = m.counter("scidex_oci_worker_rescued_total", "Analyses of other workers, whose leases had run out, that this worker gave back to the queue.")
	m.unsaved = m.counter("scidex_oci_worker_commit_failures_total", "Attempts whose end could not be committed.")
}

func (m *Metrics) counter(name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

// Watch counts a step of an attempt.
func (m *Metrics) Watch(p worker.Progress) {
	m.all.watch(p)
	if of, ok := m.classes[p.Class]; ok {
		of.watch(p)
	}
	switch p.Step {
	case worker.Harvested:
		m.files.Add(float64(p.Files))
		m.bytes.Add(float64(p.Bytes))
	case worker.Ended:
		if p.Err != nil {
			m.unsaved.Inc()
		}
	case worker.Superseded:
		m.superseded.Inc()
	default:
	}
}

// Rescued counts analyses of a worker whose lease had run out.
func (m *Metrics) Rescued(analyses int) { m.rescued.Add(float64(analyses)) }
