package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// keep ends a run that could not be committed for the reason why. Nothing of it is removed: its end waits in a record for a later
// command, or else the working directory stays. The result and the error say which.
func (r *run) keep(ctx context.Context, end judge.End, why error) (result.Result, error) {
	message, err := r.keepRecord(end, why)
	if err != nil {
		var lost []string
		lost, message = r.keepWork(ctx, fmt.Errorf("the result could not be committed: %w; nor could it be kept for later: %w", why, err))
		end.Report.Warnings = append(end.Report.Warnings, lost...)
	}
	r.space.Warn(r.release(end.Harvest.Entries))
	r.space.Warn(r.space.State.Close()) // gc finds the directory, whole, by the state file
	signal := end.Outcome.Signal
	end.Outcome = outcome.Fault(outcome.ReasonCommit, result.Sentence(message))
	end.Outcome.Signal = signal
	return r.result(end), message
}

// keepRecord writes the pending record, and returns the message for the user.
func (r *run) keepRecord(end judge.End, why error) (message, err error) {
	path, then := pending.Path(r.host, end.Row.Key), `the next command or "scidex-oci gc" commits it`
	if errors.Is(why, catalog.ErrEnded) {
		path, then = path+pending.Refused, "and stays there"
	}
	message = fmt.Errorf("the result could not be committed: %w; it is kept in %q, %s", why, path, then)
	next, err := end.Harvest.Entries.Read()
	if err == nil {
		// In another root no command looks for it, and in another store its blobs are not.
		err = cmp.Or(r.space.State.CheckReplaced(), r.host.Blobs.CheckReplaced())
	}
	if err == nil {
		err = record.Keep(path, pending.Record{V: 1, Catalog: r.space.Location.Catalog, Message: message.Error(), Run: end.Row}, next)
	}
	return message, err
}

// keepWork is the last resort for a run whose end could be neither committed nor kept, for the reasons why: it keeps the
// working directory. It returns the message for the user, and warnings about what of a /work in memory it could not keep.
func (r *run) keepWork(ctx context.Context, why error) (lost []string, message error) {
	r.space.LeaveIngest() // its content cannot be made again
	if r.space.Dir == nil {
		return nil, why
	}
	err := r.space.Dir.Promise()
	if err == nil && r.task.Plan.InMemory() {
		lost, err = r.space.Clean(ctx, true, r.task.Plan.Links())
	}
	if err != nil {
		return lost, fmt.Errorf("%w; what the analysis wrote is in %q, which could not be marked, so copy it before anything is removed: %w", why, r.space.Location.Dir, err)
	}
	return lost, fmt.Errorf("%w; what the analysis wrote stays in %q", why, r.space.Location.Dir)
}

// unexported says of a run that is committed later that its export is left to the caller.
func (r *run) unexported(end judge.End) judge.End {
	if r.task.Plan.Export == nil {
		return end
	}
	end.Report.Warnings = append(end.Report.Warnings, deliver.NothingWritten(r.task.Plan.Analysis.Export, end.Row.Key))
	report, err := json.Marshal(end.Report)
	if err == nil {
		end.Row.Report = report
	}
	r.space.Warn(err)
	return end
}
