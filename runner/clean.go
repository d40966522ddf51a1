package runner

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// clean removes what is left on the host, or keeps the working directory if requested. What it cannot remove is gc's, by the
// state file.
func (r *run) clean(ctx context.Context, end judge.End) judge.End {
	warnings := &end.Report.Warnings
	cleaned := r.span("clean")
	lost, err := r.space.Clean(ctx, end.Keep, r.task.Plan.Links())
	*warnings = append(*warnings, lost...)
	cleaned()
	if end.HasWork && end.Keep && end.Analysis.Keep == spec.KeepNever {
		r.space.Warn(workspace.NoteUnharvested(r.host.Root, end.Row.Key, r.space.Location, end.Report.Usage.WorkBytes))
	}
	defer r.span("release")()
	if err = errors.Join(err, r.release(end.Harvest.Entries)); err != nil {
		*warnings = append(*warnings, r.space.Left()+"; `scidex-oci gc` tries again: "+result.Sentence(err))
		r.space.Warn(r.space.State.Close())
		return end
	}
	r.space.Warn(r.space.State.Remove())
	return end
}

// release releases all that the launcher holds of the run but the lock.
func (r *run) release(entries *harvest.Spool) error {
	var ended error
	if r.space.Supervisor != nil {
		ended = r.tracer.Do(trace.Run, "end the supervisor", r.space.Supervisor.Close)
	}
	errs := []error{ended, r.space.Limits.Remove(), r.space.Dir.Close(), entries.Close()}
	if r.space.Ingest != nil {
		errs = append(errs, r.space.CloseIngest(), r.host.Blobs.Trim(func() (func(string) bool, error) { return pending.Awaited(r.host) }))
	}
	return errors.Join(errs...)
}
