package slurm

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Collector commits the results of a submission to a catalog.
type Collector struct {
	Spool   Spool
	Host    *phase.Host
	Store   store.Store // of the Host
	Version string      // of this program
	// Committed is called with each line that a round has committed, Failed with each that it could not commit.
	Committed func(line int, r result.Result)
	Failed    func(line int, err error)
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
	id, _, err := store.Match(ctx, c.Host.Catalog, c.Host.Blobs)
	if err != nil {
		return err
	}
	s := c.Spool
	if id != s.Submission.CatalogID {
		return fmt.Errorf("spool %q is of catalog %s and this one is %s: give the --root, --db and --blobs that it was submitted with", s.Dir, s.Submission.CatalogID, id)
	}
	if err := store.Bind(ctx, c.Host.Catalog, c.Host.Blobs); err != nil {
		return err
	}
	submitted, err := s.Submitted()
	if err != nil {
		return err
	}
	canceled, err := s.Canceled()
	if err == nil && !submitted && !canceled {
		err = fmt.Errorf("the submission of %q is still under way, or was killed; then end it with \"scidex-oci slurm cancel\"", s.Dir)
	}
	return err
}

// Round commits the lines that have ended. It asks Slurm before it reads the results, so that it misses none. Where Slurm
// cannot be asked, delivered results are committed all the same.
func (c *Collector) Round(ctx context.Context) (Round, error) {
	var r Round
	tasks, unasked := c.Spool.Tasks(ctx)
	for array, a := range c.Spool.Submission.Arrays {
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
			err = c.collect(ctx, id, n, has, tasks[id], &r.Summary)
			if err != nil && ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			if err != nil {
				r.Failed++
				c.Failed(n, err)
			}
		}
	}
	if r.Left > 0 {
		r.Unasked = unasked
	}
	return r, nil
}

// collect commits a line, and adds its state to the summary.
func (c *Collector) collect(ctx context.Context, id TaskID, n int, has bool, status Status, s *batch.Summary) error {
	if err := c.commit(ctx, id, n, has, status); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	run, err := c.Spool.Peek(n)
	if err != nil {
		return err
	}
	s.Add(dispatch.Outcome{Result: result.Result{Outcome: outcome.Outcome{State: run.State}}})
	return nil
}

// commit commits a line whose task has ended or has delivered, unless an earlier round did.
func (c *Collector) commit(ctx context.Context, id TaskID, n int, has bool, status Status) error {
	collected, err := c.Spool.Collected(n)
	if err != nil || collected {
		return err
	}
	line, err := c.Spool.Line(n)
	if err != nil {
		return err
	}
	if !has {
		if err := c.conclude(id, line, status); err != nil {
			return err
		}
	}
	key, err := c.Spool.Commit(ctx, n, line.Key(), c.Store)
	if err != nil {
		return err
	}
	run, err := c.Store.Catalog.Get(ctx, key)
	if err != nil {
		return err
	}
	r, err := watch.Show(ctx, c.Host, run)
	if err == nil {
		c.Committed(n, r)
	}
	return err
}

// conclude writes the result of a line whose task left none. A task that is alive after all finds that result when it
// delivers.
func (c *Collector) conclude(id TaskID, line Line, status Status) error {
	began, err := c.Spool.Began(line.Number)
	if err != nil {
		return err
	}
	canceled, err := c.Spool.Canceled()
	if err != nil {
		return err
	}
	ending := Ending{Status: status, Began: began, Canceled: canceled, Log: c.Spool.LogPath(id.Array, id.Task)}
	_, err = os.Lstat(ending.Log)
	ending.Logged = err == nil
	run := ending.Verdict(line)
	run.ToolVersion = c.Version
	if run.Host == "" { // no task began: this host says so
		if run.Host, err = os.Hostname(); err != nil {
			return err
		}
		run.BootID = workspace.BootID()
	}
	err = c.Spool.Conclude(line.Number, run)
	if errors.Is(err, spool.ErrTaken) {
		return nil // the task has just delivered, or another collect was faster
	}
	return err
}
