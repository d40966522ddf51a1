package catalog

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

var everywhere = points{nowhere, queued, running, complete, failed, canceled, broken, hookDue, lost}

// step is one change of state.
type step struct {
	by       method
	from, to point
}

// at is a run at a point.
func at(p point) Run {
	switch p {
	case nowhere:
		return Run{}
	case hookDue:
		return Run{Outcome: outcome.Outcome{State: outcome.Error, Reason: outcome.ReasonPostProcess}}
	case broken:
		return Run{Outcome: outcome.Outcome{State: outcome.Error, Reason: "export"}}
	default:
		return Run{Outcome: outcome.Outcome{State: outcome.State(p)}}
	}
}

func try(s step) (Move, error) {
	switch s.by {
	case create:
		return created(at(s.to))
	case update:
		return Updated(at(s.from), at(s.to))
	case commit:
		return Ended(at(s.from), at(s.to))
	case amend:
		return Amended(at(s.from), at(s.to))
	}
	return Move{}, errors.New("no such method")
}

// Exactly the changes of state that the document draws can happen.
func TestMachineIsAsDrawn(t *testing.T) {
	drawn := documented(t)
	for _, by := range []method{create, update, commit, amend} {
		for _, from := range everywhere {
			if by == create && from != nowhere {
				continue // its row is not there or taken: ErrExists
			}
			for _, to := range append(slices.Clone(everywhere), "asleep") {
				s := step{by, from, to}
				move, err := try(s)
				if drawn[s] && (err != nil || move.State() != at(to).State) {
					t.Errorf("%v is drawn, and is refused: %v", s, err)
				}
				if !drawn[s] && (err == nil || move != Move{}) {
					t.Errorf("%v is not drawn, and makes a move", s)
				}
				delete(drawn, s)
			}
		}
	}
	for s := range drawn {
		t.Errorf("%v is drawn, and was not tried", s)
	}
}

// documented reads the table of docs/ARCHITECTURE.md.
func documented(t *testing.T) map[step]bool {
	t.Helper()
	text, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## States of a run\n")
	section, _, _ = strings.Cut(section, "\n## ")
	_, drawing, _ := strings.Cut(section, "```")
	drawing, table, _ := strings.Cut(drawing, "```")
	for _, p := range everywhere[1:] {
		if !strings.Contains(drawing, " "+string(p)+" ") {
			t.Errorf("%s is not in the drawing", p)
		}
	}
	steps := map[step]bool{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 6 || !strings.Contains(cells[2], "`") {
			continue
		}
		for _, from := range words(cells[3]) {
			for _, to := range words(cells[4]) {
				s := step{method(words(cells[2])[0]), point(from), point(to)}
				if steps[s] {
					t.Errorf("%v stands in the table twice", s)
				}
				steps[s] = true
			}
		}
	}
	return steps
}

// words are those of a cell between backquotes.
func words(cell string) (all []string) {
	for i, word := range strings.Split(cell, "`") {
		if i%2 == 1 {
			all = append(all, word)
		}
	}
	return all
}

// A caller decides by the kind of error what to do.
func TestIllegalMoves(t *testing.T) {
	tests := []struct {
		step
		want error
	}{
		{step{create, nowhere, complete}, ErrTransition},
		{step{update, running, queued}, ErrTransition},
		{step{update, running, complete}, ErrTransition},
		{step{update, complete, running}, ErrNotFound},
		{step{commit, queued, complete}, ErrTransition},
		{step{commit, running, running}, ErrTransition},
		{step{commit, lost, complete}, ErrEnded},
		{step{amend, running, complete}, ErrNotFound},
		{step{amend, complete, running}, ErrTransition},
		{step{amend, failed, complete}, ErrTransition},
		{step{amend, broken, complete}, ErrTransition},
		{step{amend, lost, hookDue}, ErrTransition},
	}
	for _, tt := range tests {
		if _, err := try(tt.step); !errors.Is(err, tt.want) {
			t.Errorf("%v: %v, want %v", tt.step, err, tt.want)
		}
	}
}

// The zero Move has a state that every table refuses.
func TestZeroMove(t *testing.T) {
	if state := (Move{}).State(); state != "" {
		t.Errorf("state %q", state)
	}
}
