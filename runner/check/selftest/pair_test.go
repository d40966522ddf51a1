package selftest

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/attacks"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// newPair is a pair of canaries that have ended well, with one trial and good answers.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{examination: &examination{id: "st", host: &phase.Host{Tmp: "/tmp", Root: "/root"}}}
	p.trials = []trial{fact("write", "/", canary.Attempt{Do: "create below"}, nothingCreated)}
	for i, role := range roles {
		p.marks[i] = canary.Marks{Name: "st-" + role, Key: i + 1, Port: 20000 + i}
		p.canaries[i] = &canaryRun{Run: &check.Run{}, id: p.marks[i].Name, stdout: newLines(2)}
		p.canaries[i].Result.State, p.canaries[i].Result.Message = "complete", "the analysis exited with 0"
	}
	for i := range p.canaries {
		if i == 0 {
			p.answers[i] = append(p.answers[i], canary.Outcome{Count: 3})
		}
		for _, m := range p.marks[i].List() {
			p.answers[i] = append(p.answers[i], got(m.Step, "ok"))
		}
		for _, m := range p.marks[1-i].List() {
			p.answers[i] = append(p.answers[i], got(m.Step, attacks.Answers(m.Attack)[0]))
		}
		p.answers[i] = append(p.answers[i], got("stat", "ENOENT"))
	}
	return p
}

func (s *examination) count(result check.Status) (n int) {
	for _, f := range s.Findings {
		if f.Status == result {
			n++
		}
	}
	return n
}

func TestPairJudges(t *testing.T) {
	all := len(newPair(t).checks())
	if all != 2+1+2*7 {
		t.Fatalf("%d checks", all)
	}
	for name, c := range map[string]struct {
		change             func(*pair)
		pass, inconclusive int
	}{
		"good":                 {func(*pair) {}, all, 0},
		"a mark found":         {func(p *pair) { p.answers[0][7] = got("stat", "ok") }, all - 1, 0},
		"one not left":         {func(p *pair) { p.answers[1][0] = got("stat", "ENOENT") }, all - 1, 1},
		"the directory found":  {func(p *pair) { p.answers[1][12] = got("stat", "ok") }, all - 1, 0},
		"the first was killed": {func(p *pair) { p.canaries[0].Result.State = "failed" }, 1 + 1, 6},
		"the first said more":  {func(p *pair) { p.canaries[0].stdout.excess = true }, 1 + 1, 6},
		"no answer of either":  {func(p *pair) { p.answers = [2][]canary.Outcome{}; p.reasons = [2]string{"x", "y"} }, 0, 0},
	} {
		p := newPair(t)
		c.change(p)
		if err := p.Check(t.Context(), p.checks()...); err != nil {
			t.Fatal(err)
		}
		if len(p.Findings) != all || p.count(check.Pass) != c.pass || p.count(check.Inconclusive) != c.inconclusive {
			t.Errorf("%s: %d checks, %d pass, %d inconclusive: %+v", name, len(p.Findings), p.count(check.Pass), p.count(check.Inconclusive), p.Findings)
		}
		if report, err := p.report(""); err != nil || report.Passed != (name == "good") {
			t.Errorf("%s: passed %v, %v", name, report.Passed, err)
		}
	}
}

func TestNothingIsNoPass(t *testing.T) {
	if report, err := new(examination).report(""); err != nil || report.Passed {
		t.Errorf("%+v, %v", report, err)
	}
}
