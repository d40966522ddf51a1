package selftest

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/scidex-ai/scidex-oci/runner/standby"
)

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
	var begun [2]*standby.Standby
	for i := range begun {
		if begun[i], err = standby.Begin(ctx, p.view.analysis.Limits); err != nil {
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
