package catalogtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// stateCase is a state of a run, with a distinct reason.
type stateCase struct {
	state  outcome.State
	reason outcome.Reason
}

// allStates is all states.
var allStates = []stateCase{
	{outcome.Queued, ""},
	{outcome.Running, ""},
	{outcome.Complete, "exit"},
	{outcome.Failed, "timeout"},
	{outcome.Canceled, "stopped"},
	{outcome.Error, "sandbox"},
	{outcome.Error, outcome.ReasonPostProcess},
	{outcome.Lost, "supervisor_lost"},
}

// A change of state of the machine is made; any other leaves the run unchanged.
func testStates(t *testing.T, d Driver) {
	c := fresh(t, d)
	n := 0
	for _, from := range allStates {
		for _, to := range append(allStates, stateCase{"asleep", ""}) {
			for _, change := range changes(c) {
				n++
				run := createIn(t, c, fmt.Sprint("run-", n), from)
				want := run
				want.State, want.Reason, want.FinishedAt = to.state, to.reason, created().Add(time.Hour)
				want.Place, want.Report = json.RawMessage(`{"new":1}`), json.RawMessage(`{"new":2}`)
				_, legal := change.move(run, want)
				err := change.apply(t, want)
				switch got := get(t, c, run.ID, 1); {
				case legal == nil && (err != nil || got.State != to.state):
					t.Errorf("%s from %v to %v: %v, and the state is %s", change.name, from, to, err, got.State)
				case legal != nil && err == nil:
					t.Errorf("%s from %v to %v was made", change.name, from, to)
				case legal != nil:
					wantError(t, fmt.Sprintf("%s from %v to %v", change.name, from, to), err, kind(legal))
					wantRun(t, got, run)
				}
			}
		}
	}
}

// change is one method that changes a state.
type change struct {
	name  string
	move  func(was, is catalog.Run) (catalog.Move, error)
	apply func(t *testing.T, run catalog.Run) error
}

func changes(c catalog.Catalog) []change {
	return []change{
		{"Update", catalog.Updated, func(t *testing.T, run catalog.Run) error { return c.Update(t.Context(), run) }},
		{"Commit", catalog.Ended, func(t *testing.T, run catalog.Run) error { return c.Commit(t.Context(), run, from(file("f"))) }},
		{"Amend", catalog.Amended, func(t *testing.T, run catalog.Run) error { return c.Amend(t.Context(), run) }},
	}
}

// createIn makes a run in a state.
func createIn(t *testing.T, c catalog.Catalog, id string, at stateCase) catalog.Run {
	t.Helper()
	run := catalog.Run{Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: created()}
	if !at.state.Final() {
		run.State = at.state
		return create(t, c, run)
	}
	create(t, c, run)
	run.State, run.Reason, run.FinishedAt = at.state, at.reason, created().Add(time.Minute)
	must(t, c.Commit(t.Context(), run, from()))
	return run
}

// kind is the sentinel of an error of the machine.
func kind(err error) error {
	for _, sentinel := range []error{catalog.ErrNotFound, catalog.ErrEnded, catalog.ErrTransition} {
		if errors.Is(err, sentinel) {
			return sentinel
		}
	}
	return err
}
