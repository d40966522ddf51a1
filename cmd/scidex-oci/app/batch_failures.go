package app

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// batchFailuresNamed is how many lines that are not complete the end of a batch names, and batchInSight how many printed lines are still
// seen then, so that it need not name them again.
const batchFailuresNamed, batchInSight = 5, 10

// batchFailures are the lines that are not complete.
type batchFailures struct {
	mu     sync.Mutex
	number int
	first  []batchFailure
	states map[outcome.State]bool // of runs
	since  time.Time              // when the first run was created
}

type batchFailure struct {
	name   string
	result result.Result
}

func (f *batchFailures) add(line dispatch.Line, o dispatch.LineResult) {
	if o.Result.State == outcome.Complete {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.number++; len(f.first) < batchFailuresNamed {
		f.first = append(f.first, batchFailure{line.Name(), o.Result})
	}
	if o.Result.Attempt == 0 {
		return // it did not become a run
	}
	if f.states == nil {
		f.states = map[outcome.State]bool{}
	}
	f.states[o.Result.State] = true
	if created := o.Result.CreatedAt; created != nil && (f.since.IsZero() || created.Before(f.since)) {
		f.since = *created
	}
}

// nameFailures says which lines were the first that are not complete, why, and how to see all, unless all are in sight.
func (b *batchInvocation) nameFailures() {
	f := &b.failures
	if f.number == 0 || b.report.Shown() <= batchInSight {
		return
	}
	b.say(f.title())
	for _, one := range f.first {
		b.say(fmt.Sprintf("  %s: %s (%s): %s", one.name, one.result.State, one.result.Reason, one.result.Explanation()))
	}
	if more := b.listing(); more != "" && f.number > len(f.first) {
		b.say("  all of them: " + more)
	}
}

// title is the line before them.
func (f *batchFailures) title() string {
	if f.number > len(f.first) {
		return fmt.Sprintf("batch: %d lines are not complete, the first of them:", f.number)
	}
	return "batch: not complete:"
}

// listing is the command that lists the runs that are not complete.
func (b *batchInvocation) listing() string {
	f := &b.failures
	if len(f.states) == 0 {
		return ""
	}
	line := b.program.CallLine() + " ls"
	for _, state := range slices.Sorted(maps.Keys(f.states)) {
		line += " --state " + string(state)
	}
	if name := b.lines.SweepName(); name != "" {
		return line + " --label sweep=" + name
	}
	for _, key := range slices.Sorted(maps.Keys(b.lines.Under.Labels)) {
		line += " --label " + format.ShellQuote(key+"="+b.lines.Under.Labels[key])
	}
	return line + " --since " + f.since.UTC().Format(time.RFC3339)
}
