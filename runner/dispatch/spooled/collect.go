package spooled

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Collector commits the results of lines to a catalog.
type Collector struct {
	Spool   Spool
	Host    *phase.Host
	Store   store.Store // of the Host
	Version string      // of this program
	// Committed is called with each line that Collect has committed.
	Committed func(line int, r result.Result)
}

// Check refuses a catalog other than the one with that id, for which the lines were made, and binds the blob store to it.
func (c *Collector) Check(ctx context.Context, catalogID string) error {
	id, _, err := store.Match(ctx, c.Host.Catalog, c.Host.Blobs)
	if err != nil {
		return err
	}
	if id != catalogID {
		return fmt.Errorf("spool %q is of catalog %s and this one is %s: give the --root, --db and --blobs that it was submitted with", c.Spool.Dir, catalogID, id)
	}
	return store.Bind(ctx, c.Host.Catalog, c.Host.Blobs)
}

// Collect commits the n-th line, unless an earlier call did, and returns the state of its run. If no result was delivered, lost
// returns the run; else it is nil. A task that is alive after all finds that result when it delivers.
func (c *Collector) Collect(ctx context.Context, n int, lost func(Line) (catalog.Run, error)) (outcome.State, error) {
	if err := c.commit(ctx, n, lost); err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	run, err := c.Spool.Peek(n)
	return run.State, err
}

func (c *Collector) commit(ctx context.Context, n int, lost func(Line) (catalog.Run, error)) error {
	collected, err := c.Spool.Collected(n)
	if err != nil || collected {
		return err
	}
	line, err := c.Spool.Line(n)
	if err != nil {
		return err
	}
	if lost != nil {
		if err := c.conclude(line, lost); err != nil {
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

// conclude writes the result of a line that has none.
func (c *Collector) conclude(line Line, lost func(Line) (catalog.Run, error)) error {
	run, err := lost(line)
	if err != nil {
		return err
	}
	run.ToolVersion = c.Version
	if run.Host == "" { // no task began: this host says so
		if run.Host, err = os.Hostname(); err != nil {
			return err
		}
		run.BootID = workspace.BootID()
	}
	err = c.Spool.Conclude(line.Number, run)
	if errors.Is(err, spool.ErrTaken) {
		return nil // the task has just delivered, or another collector was faster
	}
	return err
}
