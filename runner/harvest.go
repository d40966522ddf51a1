package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// harvest reads the working directory and publishes what it holds.
func (e *execution) harvest(ctx context.Context, ended phase.Ended) error {
	if err := e.noteEnd(ended); err != nil {
		return err
	}
	closed := errors.Join(e.sinks[0].close(), e.sinks[1].close(), e.script.close())
	var err error
	e.harvested, err = harvest.Run(ctx, harvest.Source{
		Supervisor: e.supervisor, Ingest: e.ingest, Root: e.plan.Account.Root(),
	}, ended)
	return errors.Join(closed, err)
}

// noteEnd records that the analysis has ended, and how.
func (e *execution) noteEnd(ended phase.Ended) error {
	if !ended.InMemory() { // what is in memory does not outlive us
		e.tell(workspace.KeepExitRecord(e.tenure.Path, ended)) // without it gc keeps the directory and does not harvest it
		e.place.Ended = true
	}
	return e.tenure.Record(e.place)
}
