package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
)

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

// buckets are the upper bounds of a histogram, in seconds: a start takes milliseconds, an analysis may take hours.
var buckets = []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 1800, 3600, 14400, 86400}

// runs are attempts: of a worker, or those of one class.
type runs struct {
	wait, phases prometheus.ObserverVec
	ends         *prometheus.CounterVec
}

// newRuns adds the families of attempts, which have labels besides their own.
func (m *Metrics) newRuns(prefix, by string, labels ...string) runs {
	seconds := func(name, help string, own ...string) *prometheus.HistogramVec {
		opts := prometheus.HistogramOpts{Name: prefix + name, Help: help + by + ".", Buckets: buckets}
		return prometheus.NewHistogramVec(opts, slices.Concat(labels, own))
	}
	wait := seconds("queue_wait_seconds", "From the submission of an attempt to its turn on this worker")
	took := seconds("phase_seconds", "How long the phases of attempts took", "phase")
	ended := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: prefix + "runs_total", Help: "Attempts that have ended on this worker, by state and reason" + by + ".",
	}, slices.Concat(labels, []string{"state", "reason"}))
	m.registry.MustRegister(wait, took, ended)
	return runs{wait, took, ended}
}

// of are those with these labels.
func (r runs) of(labels prometheus.Labels) runs {
	return runs{r.wait.MustCurryWith(labels), r.phases.MustCurryWith(labels), r.ends.MustCurryWith(labels)}
}

// begin sets all to zero: the first of a kind is an increase, too.
func (r runs) begin() {
	r.wait.WithLabelValues()
	for _, p := range phases {
		r.phases.WithLabelValues(p.name)
	}
	for _, e := range ends() {
		r.count(e)
	}
}

func (r runs) count(e end) prometheus.Counter {
	return r.ends.WithLabelValues(string(e.state), string(e.reason))
}

// watch counts a step of an attempt.
func (r runs) watch(p worker.Progress) {
	switch p.Step {
	case worker.Taken:
		r.wait.WithLabelValues().Observe(p.Wait().Seconds())
	case worker.Ended:
		r.count(endOf(p.Result)).Inc()
	default:
	}
	for _, phase := range phases {
		if took, ok := p.Took(phase.from, phase.to); ok && p.Step == phase.to {
			r.phases.WithLabelValues(phase.name).Observe(took.Seconds())
		}
	}
}
