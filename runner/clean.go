package runner

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// clean removes what the run had on the host, or keeps its working directory if requested.
func (e *execution) clean(ctx context.Context, keep bool) error {
	if e.dir == nil {
		return nil
	}
	// Without a supervisor nothing has run: what is there is our own.
	if e.supervisor == nil && !keep && outputs.Empty(ctx, e.dir.Work) == nil {
		return e.dir.Remove()
	}
	supervisor, err := e.living(ctx)
	if err != nil {
		return err
	}
	var ingest *os.File
	if e.ingest != nil {
		ingest = e.ingest.Dir()
	}
	lost, err := supervisor.Clean(e.dir.Work, keep, ingest)
	if err != nil {
		return err
	}
	for _, entry := range lost {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("not kept: %s (%s)", outputs.Escape(entry.Path), entry.Rejected))
	}
	if keep {
		return e.dir.Keep(ctx, e.plan.Account, e.plan.Links())
	}
	return e.dir.Remove()
}

// living returns the supervisor, or a new one where that is dead: files of the analysis' id are out of the launcher's reach.
func (e *execution) living(ctx context.Context) (*sandbox.Session, error) {
	if e.supervisor != nil && e.supervisor.Alive() {
		return e.supervisor, nil
	}
	supervisor, err := sandbox.Launch(ctx, e.plan.Account)
	if err != nil {
		return nil, err
	}
	e.supervisor = supervisor.Session
	return e.supervisor, nil
}

// release releases what the launcher holds of the run.
func (e *execution) release() error {
	var errs []error
	if e.supervisor != nil {
		errs = append(errs, e.trace.Do(trace.Run, "end the supervisor", e.supervisor.Close))
	}
	errs = append(errs, e.removeGroup())
	if e.dir != nil {
		errs = append(errs, e.dir.Close())
	}
	errs = append(errs, e.harvested.Entries.Close())
	if e.ingest != nil {
		errs = append(errs, e.ingest.Close(), e.Blobs.Trim(func() (func(string) bool, error) { return pending.Awaited(e.Host) }))
	}
	return errors.Join(errs...)
}

// left says what a run could not remove, and where it is.
func (e *execution) left() string {
	if workspace.IsInode(e.place.Dir, e.place) {
		return fmt.Sprintf("the working directory %q could not be removed", e.place.Dir)
	}
	return "not everything of the run could be removed"
}

// cleanUp removes what is left on the host. What it cannot remove is gc's, by the state file.
func (e *execution) cleanUp(ctx context.Context, keep bool) {
	cleaned := e.span("clean")
	err := e.clean(ctx, keep)
	cleaned()
	defer e.span("release")()
	err = errors.Join(err, e.release())
	if err != nil {
		e.report.Warnings = append(e.report.Warnings, e.left()+"; `scidex-oci gc` tries again: "+result.Sentence(err))
		e.tell(e.tenure.Close())
		return
	}
	e.tell(e.tenure.Remove())
}
