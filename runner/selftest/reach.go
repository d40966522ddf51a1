package selftest

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
)

// The roles of the two canaries that live at the same time; they end the ids of their runs.
const (
	roleReach     = "reach"
	roleNeighbour = "neighbour"
)

// launcherVariable is in the launcher's environment and must be in no run's.
const launcherVariable = "SCIDEX_OCI_SELFTEST_CANARY"

// reach lets one canary try to reach everything, and two look for each other.
func (t *test) reach(ctx context.Context) (err error) {
	if t.secret, err = token(); err != nil {
		return err
	}
	if err := os.Setenv(launcherVariable, t.secret); err != nil {
		return err
	}
	defer os.Unsetenv(launcherVariable)
	probes, err := t.outside(ctx)
	if err != nil {
		return err
	}
	p := pair{test: t, probes: probes}
	if err := p.launch(ctx); err != nil {
		return err
	}
	if err := p.meet(); err != nil {
		return err
	}
	t.main = p.members[0].result
	p.judge()
	return nil
}

// outside makes all controls, before any canary starts.
func (t *test) outside(ctx context.Context) ([]probe, error) {
	probes := t.targets(ctx)
	ours, err := t.listeners()
	if err != nil {
		return nil, err
	}
	probes = append(probes, ours...)
	probes = append(probes, t.nameServers()...)
	return append(probes, t.writes()...), t.crew.interrupted()
}

// pair are two canaries. The first makes the probes; both leave marks and look for those of the other.
type pair struct {
	*test
	probes  []probe
	marks   [2]marks
	members [2]*member
	answers [2][]outcome // nil: none that is any good, for the reason
	reasons [2]string
}

// launch starts both.
func (p *pair) launch(ctx context.Context) (err error) {
	var begun [2]*runner.Begun
	for i := range begun {
		if begun[i], err = runner.Begin(ctx); err != nil {
			if i > 0 {
				begun[0].Drop()
			}
			return err
		}
	}
	others := append(supervisors(len(begun)), os.Getpid())
	if len(others) <= len(begun) {
		p.note("not all supervisors were found in /proc, so no signal to them was tried")
	}
	p.probes = append(p.probes, p.posture(others)...)
	for i, role := range []string{roleReach, roleNeighbour} {
		if p.marks[i], err = newMarks(p.id + "-" + role); err != nil {
			break
		}
	}
	if err != nil {
		begun[0].Drop()
		begun[1].Drop()
		return err
	}
	for i, role := range []string{roleReach, roleNeighbour} {
		var failed error
		p.members[i], failed = p.send(ctx, role, roomy(p.view.analysis), p.orders(i), begun[i])
		err = errors.Join(err, failed)
	}
	return err
}

// orders of the first or second canary.
func (p *pair) orders(i int) orders {
	o := orders{Marks: &p.marks[i]}
	if i == 0 {
		o.Tries = tries(p.probes)
	}
	o.Tries = append(o.Tries, p.marks[i].tries()...)
	o.Later = tries(p.neighbours(p.marks[1-i], nil))
	return o
}

func tries(probes []probe) (all []try) {
	for _, p := range probes {
		all = append(all, p.try)
	}
	return all
}

// meet sees to it that each canary looks for the other while that is there, and waits for their ends. The
// order of things is the launcher's: it hears both before it lets either look, and both again before either
// may end.
func (p *pair) meet() error {
	p.each(func(i int) error {
		line, err := p.members[i].line()
		if err != nil {
			return err
		}
		return parseReady(line, p.members[i].id)
	})
	err := p.dir.write("turn", []byte(turnLook))
	p.each(func(i int) error {
		line, err := p.members[i].line()
		if err != nil {
			return err
		}
		o := p.orders(i)
		p.answers[i], err = parseAnswer(line, p.members[i].id, len(o.Tries)+len(o.Later))
		return err
	})
	err = errors.Join(err, p.dir.write("turn", []byte(turnEnd)))
	ended := [2]error{p.members[0].wait(), p.members[1].wait()}
	// What one of them cannot, the other cannot either: one reason is enough.
	return cmp.Or(p.crew.interrupted(), err, ended[0], ended[1])
}

// each does one step with both canaries; the first that fails is the reason why there is no answer.
func (p *pair) each(step func(i int) error) {
	for i := range p.members {
		if p.reasons[i] != "" {
			continue
		}
		if err := step(i); err != nil {
			p.reasons[i] = err.Error()
		}
	}
}

// judge adds the checks of all probes.
func (p *pair) judge() {
	for i, m := range p.members {
		p.add(p.end(i, m))
	}
	for i, probe := range p.probes {
		p.add(probe.verdict(p.outcome(0, i), p.reasons[0]))
	}
	for i := range p.members {
		first := len(p.orders(i).Tries)
		for k, probe := range p.neighbours(p.marks[1-i], p.seen(1-i)) {
			p.add(probe.verdict(p.outcome(i, first+k), p.reasons[i]))
		}
	}
}

// end is the check that a canary ended as it should: what it said is its own only then.
func (p *pair) end(i int, m *member) Check {
	c := Check{Check: "canary", Target: m.id, Result: Pass, Detail: m.result.Message}
	switch {
	case m.speech.excess:
		c.Detail, p.answers[i] = "it said more than a canary does", nil
	case m.result.State != catalog.Complete:
		p.answers[i] = nil
	}
	if p.answers[i] == nil {
		c.Result = Fail
		if p.reasons[i] == "" {
			p.reasons[i] = c.Detail
		} else {
			c.Detail = p.reasons[i]
		}
	}
	return c
}

// outcome of a canary's try, nil where there is none.
func (p *pair) outcome(i, n int) *outcome {
	if n >= len(p.answers[i]) {
		return nil
	}
	return &p.answers[i][n]
}

// seen is what a canary made of its own marks.
func (p *pair) seen(i int) []outcome {
	first := 0
	if i == 0 {
		first = len(p.probes)
	}
	last := first + len(p.marks[i].tries())
	if last > len(p.answers[i]) {
		return nil
	}
	return p.answers[i][first:last]
}
