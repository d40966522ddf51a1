package selftest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/spec"
)

// What a canary needs: the Go runtime needs some megabytes, a dozen threads and, under an rlimit, which counts their stacks
// in full, much address space that it never touches.
const (
	minMemory  = 64 * spec.MiB
	minData    = 256 * spec.MiB
	minPids    = 40
	minFiles   = 20
	minCPUs    = 0.5
	minTimeout = spec.Duration(canary.MaxLife)
)

// withRoom raises limits that are too low for a canary. What it reaches does not depend on them; separate runs prove that
// limits hold.
func withRoom(a spec.Analysis) spec.Analysis {
	a = defaults(a)
	a.Memory = max(a.Memory, minMemory)
	if a.Limits == spec.LimitsBestEffort {
		a.Memory = max(a.Memory, minData)
	}
	a.Pids, a.WorkFiles = max(a.Pids, minPids), max(a.WorkFiles, minFiles)
	if a.CPUs != 0 {
		a.CPUs = max(a.CPUs, minCPUs)
	}
	a.Timeout = max(a.Timeout, minTimeout)
	return a
}

// limits checks every limit in the result of the canary's run.
func (t *test) limits(ctx context.Context) error {
	known := []string{}
	for _, lt := range limitTests() {
		known = slices.AppendSeq(known, maps.Keys(lt.judges))
		if err := t.testLimits(ctx, lt); err != nil {
			return err
		}
	}
	for _, limit := range []string{"memory", "cpus", "pids", "timeout"} {
		if !slices.ContainsFunc(t.main.Enforced, func(e result.Enforcement) bool { return e.Limit == limit }) {
			t.add(Check{Check: "limit", Target: limit, Result: judge.Fail, Detail: "the result of the run does not say who held it"})
		}
	}
	for _, e := range t.main.Enforced {
		if !slices.Contains(known, e.Limit) {
			t.add(Check{Check: "limit", Target: e.Limit, Result: judge.Inconclusive, Detail: "held by " + e.By + ", but this version knows no way to prove it"})
		}
	}
	return nil
}

// testLimits makes the run of a test and adds a check for each of its limits.
func (t *test) testLimits(ctx context.Context, lt limitTest) error {
	var held []result.Enforcement
	for _, e := range t.main.Enforced {
		switch {
		case lt.judges[e.Limit] == nil:
		case e.By == "none":
			t.add(unheld(e, t.view.analysis.Limits))
		case e.By == "outer":
			t.add(Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective), Result: judge.Inconclusive, Detail: "held by a control group that this program is in, too: to exceed it would be this program's end"})
		default:
			held = append(held, e)
		}
	}
	if len(held) == 0 {
		return nil
	}
	load, err := t.load(ctx, lt)
	if err != nil {
		return err
	}
	for _, e := range held {
		c := Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective)}
		c.Result, c.Detail = lt.judges[e.Limit](load)
		c.Detail = fmt.Sprintf("held by %s; %s", e.By, c.Detail)
		if now := judge.HeldBy(load.Result, e.Limit); now.By != e.By {
			c.Result, c.Detail = judge.Fail, fmt.Sprintf("held by %s in one run and by %q in another", e.By, now.By)
		}
		t.add(c)
	}
	return nil
}

// unheld is the check of an unenforced limit, which a caller who requests best effort accepts.
func unheld(e result.Enforcement, limits string) Check {
	c := Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Asked), Result: judge.Fail, Detail: "nobody holds it"}
	if limits == spec.LimitsBestEffort {
		c.Result, c.Detail = judge.Accepted, "not enforced: nobody holds it, as --limits best-effort allows"
	}
	return c
}

// load runs the canary of a test.
func (t *test) load(ctx context.Context, lt limitTest) (load judge.Load, err error) {
	a := withRoom(t.view.analysis)
	attempts := lt.exceed(&a)
	c, err := t.start(ctx, lt.role, a, canary.Orders{Attempts: attempts, Linger: lt.linger}, nil)
	if err != nil {
		return load, err
	}
	if err := c.wait(); err != nil {
		return load, err
	}
	load = judge.Load{Asked: a, Result: c.Result}
	if line, err := c.line(ctx); err == nil && !c.stdout.Excess {
		load.Outcomes, _ = canary.ParseAnswer(line, c.id, len(attempts)) // nil where it is not valid
	}
	return load, context.Cause(ctx)
}

// readable formats the value of a limit for a person.
func readable(limit, value string) string {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil && slices.Contains([]string{"memory", "tmp", "log_size", "work_size"}, limit) {
		return spec.Size(n).String()
	}
	return value
}
