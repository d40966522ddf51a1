package metrics

import "github.com/scidex-ai/scidex-oci/runner/dispatch/worker"

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

// runs are attempts: of a worker, or those of one class.
type runs struct {
	wait   *durations
	phases [len(phases)]*durations
	ends   map[end]*count
}

// newRuns returns them at zero, with labels besides their own: the first of a kind is an increase, too.
func newRuns(pairs ...string) runs {
	r := runs{wait: &durations{labels: labeled(pairs...)}, ends: map[end]*count{}}
	for i, p := range phases {
		r.phases[i] = &durations{labels: labeled(append(pairs, "phase", p.name)...)}
	}
	for _, e := range ends() {
		r.ends[e] = &count{labels: labeled(append(pairs, "state", string(e.state), "reason", string(e.reason))...)}
	}
	return r
}

// addRuns adds the families of runs that differ by their labels.
func (m *Metrics) addRuns(prefix, by string, all ...runs) {
	var waited, took, ended []metric
	for _, r := range all {
		waited = append(waited, r.wait)
		for _, p := range r.phases {
			took = append(took, p)
		}
		for _, e := range ends() {
			ended = append(ended, r.ends[e])
		}
	}
	m.add(histogram, prefix+"queue_wait_seconds", "From the submission of an attempt to its turn on this worker"+by+".", waited...)
	m.add(histogram, prefix+"phase_seconds", "How long the phases of attempts took"+by+".", took...)
	m.add(counter, prefix+"runs_total", "Attempts that have ended on this worker, by state and reason"+by+".", ended...)
}

// watch counts a step of an attempt.
func (r runs) watch(p worker.Progress) {
	switch p.Step {
	case worker.Taken:
		r.wait.add(p.Wait())
	case worker.Ended:
		r.ends[endOf(p.Result)].add(1)
	default:
	}
	for i, phase := range phases {
		if took, ok := p.Took(phase.from, phase.to); ok && p.Step == phase.to {
			r.phases[i].add(took)
		}
	}
}
