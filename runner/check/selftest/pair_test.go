package selftest

import (
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/trials"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// got is an outcome of pairs of steps and results.
func got(pairs ...string) canary.Outcome {
	o := canary.Outcome{Got: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Got[pairs[i]] = pairs[i+1]
	}
	return o
}

// newPair is a pair of canaries that have ended well, with one trial and good answers.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{session: &session{id: "st", host: &phase.Host{Tmp: "/tmp", Root: "/root"}, record: report.NewRecorder("", nil)}}
	p.trials = []trials.Trial{trials.Fact("write", "/", canary.Attempt{Do: "create below"}, judge.NothingCreated)}
	for i, role := range roles {
		p.marks[i] = canary.Marks{Name: "st-" + role, Key: i + 1, Port: 20000 + i}
		p.canaries[i] = &canaryRun{Run: &probe.Run{}, id: p.marks[i].Name, stdout: probe.NewLines(2)}
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
			p.answers[i] = append(p.answers[i], got(m.Step, m.Absent[0]))
		}
		p.answers[i] = append(p.answers[i], got("stat", "ENOENT"))
	}
	return p
}

func (s *session) count(result judge.Result) (n int) {
	for _, c := range s.record.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

func TestPairJudges(t *testing.T) {
	all := func() int { p := newPair(t); p.judgeAll(); return len(p.record.Checks) }()
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
		"the first said more":  {func(p *pair) { p.canaries[0].stdout.Excess = true }, 1 + 1, 6},
		"no answer of either":  {func(p *pair) { p.answers = [2][]canary.Outcome{}; p.reasons = [2]string{"x", "y"} }, 0, 0},
	} {
		p := newPair(t)
		c.change(p)
		p.judgeAll()
		if len(p.record.Checks) != all || p.count(judge.Pass) != c.pass || p.count(judge.Inconclusive) != c.inconclusive {
			t.Errorf("%s: %d checks, %d pass, %d inconclusive: %+v", name, len(p.record.Checks), p.count(judge.Pass), p.count(judge.Inconclusive), p.record.Checks)
		}
		if report, err := p.record.Finish(""); err != nil || report.Passed != (name == "good") {
			t.Errorf("%s: passed %v, %v", name, report.Passed, err)
		}
	}
}

func TestNothingIsNoPass(t *testing.T) {
	if report, err := report.NewRecorder("", nil).Finish(""); err != nil || report.Passed {
		t.Errorf("%+v, %v", report, err)
	}
}
