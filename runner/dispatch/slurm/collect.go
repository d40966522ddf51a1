package slurm

import (
	"context"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
)

// Collector commits the results of a submission to a catalog.
type Collector struct {
	spooled.Collector
	Submitted Spool // the same spool
	// Failed is called with each line that a round could not commit.
	Failed func(line int, err error)
}

// Round is the outcome of one pass over a spool's lines.
type Round struct {
	Summary batch.Summary // of the lines that have a result
	Left    int           // lines in progress
	Failed  int           // lines that could not be committed
	Unasked error         // why Slurm could not be asked, if a line depends on it
}

// Check refuses a catalog that is not the submission's, and a submission still in progress. It binds the blob store to the
// catalog.
func (c *Collector) Check(ctx context.Context) error {
	if err := c.Collector.Check(ctx, c.Submitted.Submission.CatalogID); err != nil {
		return err
	}
	submitted, err := c.Submitted.Submitted()
	if err != nil {
		return err
	}
	canceled, err := c.Spool.Canceled()
	if err == nil && !submitted && !canceled {
		err = fmt.Errorf("the submission of %q is still under way, or was killed; then end it with \"scidex-oci slurm cancel\"", c.Spool.Dir)
	}
	return err
}

// Round commits the lines that have ended. It asks Slurm before it reads the results, so that it misses none. If Slurm
// cannot be asked, delivered results are committed all the same.
func (c *Collector) Round(ctx context.Context) (Round, error) {
	var r Round
	tasks, unasked := c.Submitted.Tasks(ctx)
	for array, a := range c.Submitted.Submission.Arrays {
		for task, n := range a.Lines {
			if ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			id := TaskID{Array: array, Task: task}
			has, err := c.Spool.Has(n)
			if err != nil {
				return r, err
			}
			if !has && (unasked != nil || !tasks[id].Ended()) {
				r.Left++
				continue
			}
			var lost func(spooled.Line) (catalog.Run, error)
			if !has {
				lost = func(line spooled.Line) (catalog.Run, error) { return c.ending(id, line, tasks[id]) }
			}
			state, err := c.Collect(ctx, n, lost)
			if err != nil && ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			if err != nil {
				r.Failed++
				c.Failed(n, err)
				continue
			}
			r.Summary.Add(dispatch.LineResult{Result: result.Result{Outcome: outcome.Outcome{State: state}}})
		}
	}
	if r.Left > 0 {
		r.Unasked = unasked
	}
	return r, nil
}

// ending is the run of a line whose task has ended and left no result.
func (c *Collector) ending(id TaskID, line spooled.Line, status Status) (catalog.Run, error) {
	began, err := c.Spool.Began(line.Number)
	if err != nil {
		return catalog.Run{}, err
	}
	canceled, err := c.Spool.Canceled()
	if err != nil {
		return catalog.Run{}, err
	}
	e := Ending{Status: status, Began: began, Canceled: canceled, Log: c.Submitted.LogPath(id)}
	_, err = os.Lstat(e.Log)
	e.Logged = err == nil
	return e.Verdict(line), nil
}
