package selftest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// Whatever is not exactly the answer that was asked for is none.
func TestParseAnswer(t *testing.T) {
	good := `{"v":1,"id":"run","outcomes":[{"got":{"connect":"ECONNREFUSED"}},{"got":{},"count":3,"partial":true}]}`
	outcomes, err := parseAnswer([]byte(good+"\n"), "run", 2)
	if err != nil || len(outcomes) != 2 || outcomes[0].Got["connect"] != "ECONNREFUSED" || outcomes[1].Count != 3 || !outcomes[1].Partial {
		t.Fatalf("%+v, %v", outcomes, err)
	}
	for name, line := range map[string]string{
		"nothing":           "",
		"no JSON":           "all is well\n",
		"another run's":     strings.Replace(good, `"run"`, `"other"`, 1),
		"another version's": strings.Replace(good, `"v":1`, `"v":2`, 1),
		"one less":          `{"v":1,"id":"run","outcomes":[{"got":{"connect":"ECONNREFUSED"}}]}`,
		"one more":          strings.Replace(good, `[`, `[{"got":{}},`, 1),
		"none":              `{"v":1,"id":"run"}`,
		"null":              `null`,
		"a list":            `[]`,
		"twice":             good + good,
		"something behind":  good + " x",
		"an unknown field":  strings.Replace(good, `"v":1`, `"v":1,"passed":true`, 1),
		"an unknown detail": strings.Replace(good, `"count":3`, `"counted":3`, 1),
		"a number for text": strings.Replace(good, `"ECONNREFUSED"`, `0`, 1),
		"a count too large": strings.Replace(good, `"count":3`, `"count":99999999999999999999`, 1),
		"cut short":         good[:len(good)-1],
	} {
		if outcomes, err := parseAnswer([]byte(line), "run", 2); err == nil {
			t.Errorf("%s: %+v", name, outcomes)
		}
	}
}

func TestParseReady(t *testing.T) {
	if err := parseReady([]byte(`{"v":1,"id":"run","ready":true}`+"\n"), "run"); err != nil {
		t.Error(err)
	}
	for _, line := range []string{
		"", "ready", `{"v":1,"id":"run","ready":false}`, `{"v":1,"id":"run"}`, `{"v":1,"id":"other","ready":true}`, `{"v":2,"id":"run","ready":true}`,
		`{"v":1,"id":"run","ready":true}{}`, `{"v":1,"id":"run","ready":true,"more":1}`,
	} {
		if parseReady([]byte(line), "run") == nil {
			t.Errorf("%q is taken", line)
		}
	}
}

// Started by hand a canary does nothing.
func TestCanaryOutside(t *testing.T) {
	t.Setenv("SCIDEX_ANALYSIS_ID", "run")
	var said strings.Builder
	if err := Canary(&said, "run"); !errors.Is(err, os.ErrNotExist) || said.Len() > 0 {
		t.Errorf("%q, %v", said.String(), err)
	}
	path := filepath.Join(t.TempDir(), "orders")
	for name, c := range map[string]struct {
		o  orders
		id string
	}{
		"of another run":     {orders{V: 1, ID: "other"}, "other"},
		"for another run":    {orders{V: 1, ID: "run"}, "other"},
		"of another version": {orders{V: 2, ID: "run"}, "run"},
		"of no run":          {orders{V: 1}, ""},
	} {
		text, err := json.Marshal(c.o)
		if err == nil {
			err = os.WriteFile(path, text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readOrders(path, c.id); err == nil {
			t.Errorf("orders %s are taken", name)
		}
	}
	if err := os.WriteFile(path, []byte(`{"v":1,"id":"run","tries":[]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readOrders(path, "run"); err != nil {
		t.Error(err)
	}
}

// What a canary writes is bounded, in whatever pieces it comes.
func TestSpeech(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		lines  []string
		excess bool
	}{
		"two lines":        {[]string{"a\nb\n"}, []string{"a\n", "b\n"}, false},
		"in pieces":        {[]string{"a", "b", "c\nd", "\n"}, []string{"abc\n", "d\n"}, false},
		"three lines":      {[]string{"a\nb\nc\n"}, []string{"a\n", "b\n"}, true},
		"an open end":      {[]string{"a\nb"}, []string{"a\n"}, false},
		"a long line":      {[]string{strings.Repeat("x", maxLine), "x\n"}, nil, true},
		"after a long one": {[]string{strings.Repeat("x", maxLine+1), "\na\n"}, nil, true},
	} {
		s := speech{lines: make(chan []byte, 2)}
		for _, piece := range c.pieces {
			if n, err := s.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		close(s.lines)
		var lines []string
		for line := range s.lines {
			lines = append(lines, string(line))
		}
		if strings.Join(lines, "|") != strings.Join(c.lines, "|") || s.excess != c.excess {
			t.Errorf("%s: %q, excess %v", name, lines, s.excess)
		}
	}
}

// newPair is a pair of canaries that have ended well, with one probe and good answers.
func newPair(t *testing.T) *pair {
	t.Helper()
	p := &pair{test: &test{id: "st", runner: &phase.Host{Tmp: "/tmp", Root: "/root"}}}
	p.probes = []probe{own("write", "/", try{Do: "plant"}, unplanted)}
	for i, role := range []string{roleReach, roleNeighbour} {
		p.marks[i] = marks{Name: "st-" + role, Key: i + 1, Port: 20000 + i}
		p.members[i] = &member{id: p.marks[i].Name}
		p.members[i].result.State, p.members[i].result.Message = "complete", "the analysis exited with 0"
	}
	for i := range p.members {
		if i == 0 {
			p.answers[i] = append(p.answers[i], outcome{Count: 3})
		}
		for _, s := range p.marks[i].signs() {
			p.answers[i] = append(p.answers[i], got(s.step, "ok"))
		}
		for _, s := range p.marks[1-i].signs() {
			p.answers[i] = append(p.answers[i], got(s.step, s.gone[0]))
		}
		p.answers[i] = append(p.answers[i], got("stat", "ENOENT"))
	}
	return p
}

func (t *test) count(result Result) (n int) {
	for _, c := range t.report.Checks {
		if c.Result == result {
			n++
		}
	}
	return n
}

func TestPairJudges(t *testing.T) {
	all := func() int { p := newPair(t); p.judge(); return len(p.report.Checks) }()
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
		"the first was killed": {func(p *pair) { p.members[0].result.State = "failed" }, 1 + 1, 6},
		"the first said more":  {func(p *pair) { p.members[0].speech.excess = true }, 1 + 1, 6},
		"no answer of either":  {func(p *pair) { p.answers = [2][]outcome{}; p.reasons = [2]string{"x", "y"} }, 0, 0},
	} {
		p := newPair(t)
		c.change(p)
		p.judge()
		if len(p.report.Checks) != all || p.count(Pass) != c.pass || p.count(Inconclusive) != c.inconclusive {
			t.Errorf("%s: %d checks, %d pass, %d inconclusive: %+v", name, len(p.report.Checks), p.count(Pass), p.count(Inconclusive), p.report.Checks)
		}
		if report, err := p.finish(); err != nil || report.Passed != (name == "good") {
			t.Errorf("%s: passed %v, %v", name, report.Passed, err)
		}
	}
}

func TestNothingIsNoPass(t *testing.T) {
	if report, err := (&test{}).finish(); err != nil || report.Passed {
		t.Errorf("%+v, %v", report, err)
	}
}
