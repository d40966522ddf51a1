package selftest

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// The roles of the two canaries that run at the same time. They end the ids of their runs.
const (
	roleReach     = "reach"
	roleNeighbour = "neighbour"
)

var roles = [2]string{roleReach, roleNeighbour}

// pair is two canaries. The first makes the trials; both leave marks and look for those of the other.
type pair struct {
	*examination
	trials   []trial
	marks    [2]canary.Marks
	canaries [2]*canaryRun
	answers  [2][]canary.Outcome // nil if there is no valid answer, for the reason
	reasons  [2]string
}

// launch starts both canaries.
func (p *pair) launch(ctx context.Context, secret string) (err error) {
	var started [2]*warm.Sandbox
	for i := range started {
		if started[i], err = warm.Begin(ctx, p.view.Analysis.Limits); err != nil {
			if i > 0 {
				started[0].Drop()
			}
			return err
		}
	}
	pids := []int{os.Getpid()}
	for _, s := range started {
		if pid := s.Pid(); pid != 0 { // the run says why
			pids = append(pids, pid)
		}
	}
	sandbox := func() result.Sandbox { return p.canaries[0].Result.Sandbox } // known when the canary has ended
	p.trials = append(p.trials, postureTrials(p.view, p.host.Root, secret, pids, sandbox)...)
	for i, role := range roles {
		p.marks[i] = canary.NewMarks(p.id + "-" + role)
	}
	for i, role := range roles {
		var failed error
		given, drop := started[i].Given()
		if p.canaries[i], failed = p.start(ctx, role, raised(p.view.Analysis), p.orders(i), given); p.canaries[i] == nil {
			drop() // the run of one that was started takes it, also if it is to stop
		}
		err = errors.Join(err, failed)
	}
	return err
}

// orders of the first or second canary.
func (p *pair) orders(i int) canary.Orders {
	o := canary.Orders{Marks: &p.marks[i]}
	if i == 0 {
		o.Attempts = attempts(p.trials)
	}
	o.Attempts = append(o.Attempts, p.marks[i].Attempts()...)
	o.Later = attempts(neighbourTrials(p.host.Tmp, p.marks[1-i], nil))
	return o
}

// meet lets each canary look for the other while that runs, and waits for their ends. Both must be ready before either
// looks, and both must have answered before either ends.
func (p *pair) meet(ctx context.Context) error {
	p.both(func(i int) error {
		line, err := p.canaries[i].line(ctx)
		if err != nil {
			return err
		}
		return canary.ParseReady(line, p.canaries[i].id)
	})
	err := p.dir.write("turn", []byte(canary.TurnLook))
	p.both(func(i int) error {
		line, err := p.canaries[i].line(ctx)
		if err != nil {
			return err
		}
		o := p.orders(i)
		p.answers[i], err = canary.ParseAnswer(line, p.canaries[i].id, len(o.Attempts)+len(o.Later))
		return err
	})
	err = errors.Join(err, p.dir.write("turn", []byte(canary.TurnEnd)))
	ended := [2]error{p.canaries[0].wait(), p.canaries[1].wait()}
	// What prevents one prevents the other: one error is enough.
	return cmp.Or(context.Cause(ctx), err, ended[0], ended[1])
}

// both takes one step with both canaries. The first step that fails is the reason why a canary has no answer.
func (p *pair) both(step func(i int) error) {
	for i := range p.canaries {
		if p.reasons[i] != "" {
			continue
		}
		if err := step(i); err != nil {
			p.reasons[i] = err.Error()
		}
	}
}

// checks are those of both canaries and of all trials.
func (p *pair) checks() (all []check.Check) {
	for i := range p.canaries {
		status, seen := p.judgeEnd(i)
		all = append(all, known("canary", p.canaries[i].id, status, seen))
	}
	for i, t := range p.trials {
		all = append(all, t.check(p.outcome(0, i), p.reasons[0]))
	}
	for i := range p.canaries {
		first := len(p.orders(i).Attempts)
		for k, t := range neighbourTrials(p.host.Tmp, p.marks[1-i], p.ownMarks(1-i)) {
			all = append(all, t.check(p.outcome(i, first+k), p.reasons[i]))
		}
	}
	return all
}

// judgeEnd finds whether a canary ended as expected; otherwise its answer is dropped.
func (p *pair) judgeEnd(i int) (status check.Status, seen string) {
	run := p.canaries[i]
	seen = run.Result.Message
	switch {
	case run.stdout.excess:
		seen, p.answers[i] = "it said more than a canary does", nil
	case run.Result.State != outcome.Complete:
		p.answers[i] = nil
	}
	if p.answers[i] == nil {
		p.reasons[i] = cmp.Or(p.reasons[i], seen)
		return check.Fail, p.reasons[i]
	}
	return check.Pass, seen
}

// outcome n of a canary, nil if there is none.
func (p *pair) outcome(i, n int) *canary.Outcome {
	if n >= len(p.answers[i]) {
		return nil
	}
	return &p.answers[i][n]
}

// ownMarks are the outcomes of a canary that looked for its own marks.
func (p *pair) ownMarks(i int) []canary.Outcome {
	first := 0
	if i == 0 {
		first = len(p.trials)
	}
	last := first + len(p.marks[i].List())
	if last > len(p.answers[i]) {
		return nil
	}
	return p.answers[i][first:last]
}
