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
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
	"github.com/scidex-ai/scidex-oci/spec"
)

// testLimits checks every limit in main, the result of a canary's run.
func testLimits(ctx context.Context, s *session, main result.Result) error {
	known := []string{}
	for _, lt := range limitTests() {
		known = slices.AppendSeq(known, maps.Keys(lt.judges))
		if err := testLimit(ctx, s, main, lt); err != nil {
			return err
		}
	}
	for _, limit := range []string{"memory", "cpus", "pids", "timeout"} {
		if !slices.ContainsFunc(main.Enforced, func(e result.Enforcement) bool { return e.Limit == limit }) {
			s.record.Add(report.Check{Check: "limit", Target: limit, Result: judge.Fail, Detail: "the result of the run does not say who held it"})
		}
	}
	for _, e := range main.Enforced {
		if !slices.Contains(known, e.Limit) {
			s.record.Add(report.Check{Check: "limit", Target: e.Limit, Result: judge.Inconclusive, Detail: "held by " + e.By + ", but this version knows no way to prove it"})
		}
	}
	return nil
}

// testLimit makes the run of a test and adds a check for each of its limits.
func testLimit(ctx context.Context, s *session, main result.Result, lt limitTest) error {
	var held []result.Enforcement
	for _, e := range main.Enforced {
		switch {
		case lt.judges[e.Limit] == nil:
		case e.By == "none":
			s.record.Add(unheld(e, s.view.Analysis.Limits))
		case e.By == "outer":
			s.record.Add(report.Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective), Result: judge.Inconclusive, Detail: "held by a control group that this program is in, too: to exceed it would be this program's end"})
		default:
			held = append(held, e)
		}
	}
	if len(held) == 0 {
		return nil
	}
	load, err := exceedLimits(ctx, s, lt, strict(s.view.Analysis.Limits, main.Enforced))
	if err != nil {
		return err
	}
	for _, e := range held {
		c := report.Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Effective)}
		c.Result, c.Detail = lt.judges[e.Limit](load)
		c.Detail = fmt.Sprintf("held by %s; %s", e.By, c.Detail)
		if now := judge.HeldBy(load.Result, e.Limit); now.By != e.By {
			c.Result, c.Detail = judge.Fail, fmt.Sprintf("held by %s in one run and by %q in another", e.By, now.By)
		}
		s.record.Add(c)
	}
	return nil
}

// unheld is the check of an unenforced limit, which a caller who requests best effort accepts.
func unheld(e result.Enforcement, limits string) report.Check {
	c := report.Check{Check: "limit", Target: e.Limit + " " + readable(e.Limit, e.Asked), Result: judge.Fail, Detail: "nothing holds it"}
	if limits == spec.LimitsBestEffort {
		c.Result, c.Detail = judge.Accepted, "not enforced: nothing holds it, as --limits best-effort allows"
	}
	return c
}

// strict returns how the limits of a test's run are held. Best effort adds rlimits to a control group that holds all: they would refuse
// first, and say nothing of the group.
func strict(limits string, enforced []result.Enforcement) string {
	weak := func(e result.Enforcement) bool { return e.By == "none" || e.By == "rlimit" }
	if limits == spec.LimitsBestEffort && !slices.ContainsFunc(enforced, weak) {
		return spec.LimitsEnforce
	}
	return limits
}

// exceedLimits runs the canary of a test.
func exceedLimits(ctx context.Context, s *session, lt limitTest, limits string) (load judge.Load, err error) {
	a := view.WithRoom(s.view.Analysis)
	a.Limits = limits
	attempts := lt.exceed(&a)
	c, err := s.start(ctx, lt.role, a, canary.Orders{Attempts: attempts, Linger: lt.linger}, nil)
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
