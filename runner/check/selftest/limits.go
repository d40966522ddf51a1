package selftest

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// What a canary needs to live: the Go runtime has some megabytes of its own, a dozen threads, and under an
// rlimit, where their stacks count in full, much more that it never touches.
const (
	leastMemory  = 64 * spec.MiB
	leastData    = 256 * spec.MiB
	leastPids    = 40
	leastFiles   = 20
	leastCPUs    = 0.5
	leastTimeout = spec.Duration(30 * time.Minute) // much of a host may have to be looked at
)

// What a limit is proven with at most: the caller's own value where it is small, else one at which the same
// mechanism does no harm to the host. What the kernel holds of the caller's value is read back for each run.
const (
	mostMemory = 256 * spec.MiB
	mostPids   = 200
	mostWork   = 16 * spec.MiB
	mostFiles  = 500
	mostCPUs   = 0.05            // a busy host has as much for it
	scratch    = 2 * time.Second // the timeout
	logs       = 64 * spec.KiB
)

// strained is a run at its limits and what came of it.
type strained struct {
	asked    spec.Analysis
	outcomes []outcome // nil where the canary did not live to tell
	result   result.Result
}

// trial proves limits by a run that strains them.
type trial struct {
	role   string
	limits []string // names as in the result's enforced
	shrink func(*spec.Analysis)
	tries  func(spec.Analysis) []try
	linger bool
	judge  map[string]func(strained) (Result, string)
}

// limits checks every limit that the result of the canary's run names.
func (t *test) limits(ctx context.Context) error {
	known := []string{}
	for _, trial := range trials() {
		known = append(known, trial.limits...)
		if err := t.try(ctx, trial); err != nil {
			return err
		}
	}
	for _, limit := range []string{"memory", "cpus", "pids", "timeout"} {
		if !slices.ContainsFunc(t.main.Enforced, func(e result.Enforcement) bool { return e.Limit == limit }) {
			t.add(Check{Check: "limit", Target: limit, Result: Fail, Detail: "the result of the run does not say who held it"})
		}
	}
	for _, e := range t.main.Enforced {
		if !slices.Contains(known, e.Limit) {
			t.add(Check{Check: "limit", Target: e.Limit, Result: Inconclusive, Detail: "held by " + e.By + ", but this version knows no way to prove it"})
		}
	}
	return nil
}

// try makes one trial and adds a check for each of its limits.
func (t *test) try(ctx context.Context, tr trial) error {
	a := roomy(t.view.analysis)
	tr.shrink(&a)
	var held []result.Enforcement
	for _, e := range t.main.Enforced {
		switch {
		case !slices.Contains(tr.limits, e.Limit):
		case e.By == "none":
			t.add(t.unheld(e))
		case e.By == "outer":
			t.add(Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective), Result: Inconclusive, Detail: "held by a control group that this program is in, too: to exceed it would be this program's end"})
		default:
			held = append(held, e)
		}
	}
	if len(held) == 0 {
		return nil
	}
	s, err := t.strain(ctx, tr, a)
	if err != nil {
		return err
	}
	for _, e := range held {
		c := Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective)}
		c.Result, c.Detail = tr.judge[e.Limit](s)
		c.Detail = fmt.Sprintf("held by %s; %s", e.By, c.Detail)
		if now := enforcement(s.result, e.Limit); now.By != e.By {
			c.Result, c.Detail = Fail, fmt.Sprintf("held by %s in one run and by %q in another", e.By, now.By)
		}
		t.add(c)
	}
	return nil
}

// unheld is the check of a limit that nobody holds. Who has asked for best effort has accepted that.
func (t *test) unheld(e result.Enforcement) Check {
	c := Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Asked), Result: Fail, Detail: "nobody holds it"}
	if t.view.analysis.Limits == spec.LimitsBestEffort {
		c.Result, c.Detail = Accepted, "not enforced: nobody holds it, as --limits best-effort allows"
	}
	return c
}

// strain runs the canary of a trial.
func (t *test) strain(ctx context.Context, tr trial, a spec.Analysis) (s strained, err error) {
	what := tr.tries(a)
	m, err := t.send(ctx, tr.role, a, orders{Tries: what, Linger: tr.linger}, nil)
	if err != nil {
		return s, err
	}
	if err := cmp.Or(t.crew.interrupted(), m.wait()); err != nil {
		return s, cmp.Or(t.crew.interrupted(), err)
	}
	s = strained{asked: a, result: m.result}
	if line, err := m.line(); err == nil && !m.speech.excess {
		s.outcomes, err = parseAnswer(line, m.id, len(what))
		if err != nil {
			s.outcomes = nil
		}
	}
	return s, t.crew.interrupted()
}

func enforcement(r result.Result, limit string) result.Enforcement {
	for _, e := range r.Enforced {
		if e.Limit == limit {
			return e
		}
	}
	return result.Enforcement{}
}

// readable is a limit's value for a person.
func readable(limit, value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && slices.Contains([]string{"memory", "tmp", "log_size", "work_size"}, limit) {
		return spec.Size(n).String()
	}
	return value
}

// trials prove the limits that this version has.
func trials() []trial {
	return []trial{
		{
			role: "memory", limits: []string{"memory"},
			shrink: func(a *spec.Analysis) { a.Memory = min(a.Memory, mostMemory) },
			tries: func(a spec.Analysis) []try {
				return []try{{Do: "hog", With: strconv.FormatInt(int64(a.Memory+a.Memory/2), 10)}}
			},
			judge: map[string]func(strained) (Result, string){"memory": judgeMemory},
		},
		{
			role: "pids", limits: []string{"pids"},
			shrink: func(a *spec.Analysis) { a.Pids = min(a.Pids, mostPids) },
			tries:  func(a spec.Analysis) []try { return []try{{Do: "fork", With: strconv.FormatInt(a.Pids+1, 10)}} },
			judge:  map[string]func(strained) (Result, string){"pids": judgePids},
		},
		{
			role: "cpus", limits: []string{"cpus"},
			shrink: func(a *spec.Analysis) { a.CPUs = min(a.WithDefaults().CPUs, mostCPUs) },
			tries: func(a spec.Analysis) []try {
				return []try{{Do: "burn", With: strconv.Itoa(int(math.Ceil(a.CPUs)) + 1)}}
			},
			judge: map[string]func(strained) (Result, string){"cpus": judgeCPUs},
		},
		{
			role: "work", limits: []string{"work_size"},
			shrink: func(a *spec.Analysis) { a.WorkSize = min(a.WorkSize, mostWork) },
			tries: func(a spec.Analysis) []try {
				return []try{{Do: "pile", At: "/work", With: strconv.FormatInt(int64(2*a.WorkSize/pileBytes), 10)}}
			},
			judge: map[string]func(strained) (Result, string){"work_size": judgeWorkSize},
		},
		{
			role: "names", limits: []string{"work_files"},
			shrink: func(a *spec.Analysis) { a.WorkFiles = min(a.WorkFiles, mostFiles) },
			tries: func(a spec.Analysis) []try {
				return []try{{Do: "litter", At: "/work", With: strconv.FormatInt(2*a.WorkFiles, 10)}}
			},
			judge: map[string]func(strained) (Result, string){"work_files": judgeWorkFiles},
		},
		{
			role: "scratch", limits: []string{"tmp", "log_size", "timeout"}, linger: true,
			shrink: func(a *spec.Analysis) {
				a.Memory, a.LogSize = min(a.Memory, mostMemory), min(a.LogSize, logs)
				a.WorkSize = max(a.WorkSize, a.Memory) // it is the size of a file in /tmp too
				a.Timeout, a.Grace = spec.Duration(scratch), min(a.Grace, spec.Duration(200*time.Millisecond))
			},
			tries: func(a spec.Analysis) []try {
				return []try{
					{Do: "fill", At: "/tmp", With: strconv.FormatInt(int64(a.Memory), 10)},
					{Do: "flood", With: strconv.FormatInt(int64(2*a.LogSize), 10)},
				}
			},
			judge: map[string]func(strained) (Result, string){"tmp": judgeTmp, "log_size": judgeLogs, "timeout": judgeTimeout},
		},
	}
}
