package catalog

import (
	"errors"
	"fmt"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// ErrTransition is returned for a change of state not in the machine.
var ErrTransition = errors.New("no such change of state")

// Move is a valid change of state. Only created, Updated, Ended and Amended make one, so a dialect that writes State cannot
// write an invalid one; the tables refuse the empty state of the zero Move.
type Move struct{ to outcome.State }

// State is the state after the move.
func (m Move) State() outcome.State { return m.to }

// created is the move of Create, which writes the intent.
func created(run Run) (Move, error) { return move(create, Run{}, run) }

// Updated is the move of Update from the stored run. An ended run is ErrNotFound.
func Updated(was, is Run) (Move, error) {
	if was.State.Final() {
		return Move{}, ErrNotFound
	}
	return move(update, was, is)
}

// Ended is the move of Commit from the stored run. An ended run is ErrEnded.
func Ended(was, is Run) (Move, error) {
	if was.State.Final() {
		return Move{}, ErrEnded
	}
	return move(commit, was, is)
}

// Amended is the move of Amend from the stored run. A run that has not ended is ErrNotFound.
func Amended(was, is Run) (Move, error) {
	if !was.State.Final() {
		return Move{}, ErrNotFound
	}
	return move(amend, was, is)
}

func move(by method, was, is Run) (Move, error) {
	from, to := pointOf(was), pointOf(is)
	for _, t := range machine {
		if t.by == by && slices.Contains(t.from, from) && slices.Contains(t.to, to) {
			return Move{is.State}, nil
		}
	}
	return Move{}, fmt.Errorf("%w: %s does not make a run that is %s one that is %s", ErrTransition, by, from, to)
}

// method is a method of Catalog that changes a state.
type method string

const (
	create method = "Create"
	update method = "Update"
	commit method = "Commit"
	amend  method = "Amend"
)

// point is a run's node in the machine: its state and what it waits for.
type point string

const (
	nowhere  point = "nowhere" // not created
	queued         = point(outcome.Queued)
	running        = point(outcome.Running)
	complete       = point(outcome.Complete)
	failed         = point(outcome.Failed)
	canceled       = point(outcome.Canceled)
	broken         = point(outcome.Error)
	hookDue        = point(outcome.Error) + "/" + point(outcome.ReasonPostProcess)
	lost           = point(outcome.Lost)
)

func pointOf(run Run) point {
	switch {
	case run.State == "":
		return nowhere
	case run.State == outcome.Error && run.Reason == outcome.ReasonPostProcess:
		return hookDue
	}
	return point(run.State)
}

type points = []point

// machine lists all changes of a run's state; others are impossible. docs/ARCHITECTURE.md, "States of a run", draws it and
// explains each line.
var machine = []struct {
	by       method
	from, to points
}{
	{create, points{nowhere}, points{queued, running}},
	{update, points{queued}, points{queued, running}},
	{update, points{running}, points{running}},
	{commit, points{queued}, points{canceled, broken, lost}},
	{commit, points{running}, points{complete, hookDue, failed, canceled, broken, lost}},
	{amend, points{complete}, points{complete, hookDue, broken}},
	{amend, points{hookDue}, points{hookDue, complete}},
	{amend, points{failed}, points{failed}},
	{amend, points{canceled}, points{canceled}},
	{amend, points{broken}, points{broken}},
	{amend, points{lost}, points{lost}},
}
