// Package check is the checker under doctor and selftest: it makes a list of checks in order, each of which gives one
// finding, and passes it on as it is known. What changes namespaces, mounts or filters happens in a child process, so that
// nothing is left of it and this process is unchanged; the runs that checks start are stopped together.
package check

import (
	"cmp"
	"context"

	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
)

// Check is one row of doctor or selftest.
type Check struct {
	Name   string // a code of doctor ("userns.unshare"), a kind of selftest ("tcp")
	Target string // what selftest checks
	// Needs are names of checks: if one has failed, or was skipped for one that has, this one is skipped.
	Needs []string
	// Do is done in this process, or Try in a child.
	Do  func(context.Context) Finding
	Try *Try
	// Works says what it means for runs that the check went well.
	Works string
	// Fails and Advice say what the failure of Try means and what helps. If Warns, runs work with less.
	Fails  string
	Advice func(error) remedies.Remedy
	Warns  bool
}

// Finding is the result of a check. Its JSON is that of doctor; selftest has names of its own for some of it.
type Finding struct {
	Name   string `json:"code"` // the check's, as is Target
	Target string `json:"-"`
	Status Status `json:"status"`
	Seen   string `json:"seen"` // the kernel's error if it refused
	// Control is what happened outside the sandbox, empty if there is nothing to compare with.
	Control string `json:"-"`
	Means   string `json:"means"` // for runs, one sentence
	// Cure and Command say what helps, as a sentence and a command; empty if all is well.
	Cure    string `json:"cure"`
	Command string `json:"command"`
	// After is the name of the failed check for which this one was skipped.
	After string `json:"after"`
}

// Status of a finding.
type Status string

// The statuses of doctor. Fail means that runs with these flags do not work because of it, Warn that they work with less.
// Skipped was not tried: a check that it needs has failed (After), or runs do not need it here.
const (
	OK      Status = "ok"
	Warn    Status = "warn"
	Fail    Status = "fail"
	Skipped Status = "skipped"
)

// The statuses of selftest, and Fail. Accepted is what the caller chose to do without (--limits best-effort, --ids self),
// which is no failure.
const (
	Pass         Status = "pass"
	Accepted     Status = "accepted"
	Inconclusive Status = "inconclusive"
)

// As returns the finding with another status, what that means, and what helps.
func (f Finding) As(status Status, means string, remedy remedies.Remedy) Finding {
	f.Status, f.Means, f.Cure, f.Command = status, means, remedy.Sentence, remedy.Command
	return f
}

// SkippedAfter is the finding of what was not tried because another check has failed.
func SkippedAfter(failed string) Finding {
	return Finding{Status: Skipped, Seen: "not tried", Means: "nothing is known", After: failed}
}

// NotNeeded is the finding of what runs do not need here.
func NotNeeded(why string) Finding {
	return Finding{Status: Skipped, Seen: why, Means: "runs do without"}
}

// Checker makes checks and keeps what they found.
type Checker struct {
	Account  idmap.Account // whose ids children get
	Each     func(Finding) // called with every finding as it is known; may be nil
	Findings []Finding
}

// Check makes checks in order. If the context ends, it returns its cause.
func (c *Checker) Check(ctx context.Context, checks ...Check) error {
	for _, k := range checks {
		f := c.find(ctx, k)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		c.Findings = append(c.Findings, f)
		if c.Each != nil {
			c.Each(f)
		}
	}
	return nil
}

func (c *Checker) find(ctx context.Context, k Check) (f Finding) {
	if failed := c.obstacle(k.Needs); failed != "" {
		f = SkippedAfter(failed)
	} else if k.Try == nil {
		f = k.Do(ctx)
	} else if seen, err := k.Try.run(ctx, k.Name, c.Account); err == nil {
		f = Finding{Seen: seen}
	} else {
		status := Fail
		if k.Warns {
			status = Warn
		}
		f = Finding{Seen: err.Error()}.As(status, k.Fails, k.Advice(err))
	}
	f.Name, f.Target = k.Name, k.Target
	f.Status, f.Means = cmp.Or(f.Status, OK), cmp.Or(f.Means, k.Works)
	return f
}

// obstacle returns the failed check for which one with these needs is skipped, or "".
func (c *Checker) obstacle(needs []string) string {
	for _, need := range needs {
		switch f := c.Of(need); {
		case f.Status == Fail:
			return f.Name
		case f.Status == Skipped && f.After != "":
			return f.After
		}
	}
	return ""
}

// Of returns the finding of a check, the zero Finding if there is none yet.
func (c *Checker) Of(name string) Finding {
	for _, f := range c.Findings {
		if f.Name == name {
			return f
		}
	}
	return Finding{}
}

// Failed returns the first failure.
func (c *Checker) Failed() (Finding, bool) {
	for _, f := range c.Findings {
		if f.Status == Fail {
			return f, true
		}
	}
	return Finding{}, false
}
