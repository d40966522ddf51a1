package selftest

import "github.com/scidex-ai/scidex-oci/outputs/catalog"

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
