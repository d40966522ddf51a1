package worker

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/queue"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// missing returns what a job requests and this worker does not have; empty for nothing. An unreadable request misses nothing,
// and is refused when it is run.
func (w *Worker) missing(job queue.Job) string {
	var all []string
	for _, key := range slices.Sorted(maps.Keys(job.Require)) {
		if has, ok := w.Labels[key]; !ok || has != job.Require[key] {
			all = append(all, fmt.Sprintf("label %s=%s", key, job.Require[key]))
		}
	}
	if a, err := plan.ReadQueued(job.Request); err == nil {
		all = append(all, plan.MissingPrograms(w.Host, a)...)
	}
	if !w.Capacity.Holds(limits(job)) {
		all = append(all, fmt.Sprintf("room for %v and %v CPUs", spec.Size(job.Memory), job.CPUs))
	}
	return strings.Join(all, ", ")
}

// elsewhere requeues a job that this worker cannot run, for longer each time: this worker may be the next to take it. The pause is random:
// workers look for jobs every 5 s, and one of 30 s found the same worker as the next to look, again and again.
func (w *Worker) elsewhere(job queue.Job, missing string) error {
	longest := backoff.Doubled(firstPause, longestPause, job.Returned)
	after := longest/2 + rand.N(longest/2)
	w.Log.Warn("an analysis is left to other workers", "id", job.ID, "lacks", missing, "again", after)
	return &queue.Later{After: after, Unfit: true, Why: fmt.Sprintf("no worker with %s has taken it yet; the last that could not was %s at %s",
		missing, w.Options.Name, time.Now().UTC().Format(time.RFC3339))}
}
