package recovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/recovery/rundir"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Retention says which runs of a root gc expires: those that satisfy both bounds. The zero value expires none. What is
// pinned, has not ended, or is the only copy of what a run wrote stays in any case.
type Retention struct {
	Before      time.Time // runs that ended before; zero for any time
	KeepLast    int       // and that are not among the newest so many of the root; 0 for no such bound
	OutputsOnly bool      // only the contents of outputs: rows, digests, logs and kept directories stay
}

// Asked reports whether anything is to expire.
func (r Retention) Asked() bool { return !r.Before.IsZero() || r.KeepLast > 0 }

// covers reports whether the policy covers a run.
func (r Retention) covers(run catalog.Run) bool {
	if !run.State.Final() || run.Pinned || r.OutputsOnly && (run.OutputsTotal == 0 || !run.OutputsRemovedAt.IsZero()) {
		return false
	}
	ended := run.FinishedAt
	if ended.IsZero() {
		ended = run.CreatedAt
	}
	return r.Before.IsZero() || ended.Before(r.Before)
}

// retain applies the policy. A run that could not be removed does not stop the rest.
func (c *collector) retain(ctx context.Context) error {
	rank := 0
	return c.eachRun(ctx, catalog.Filter{Host: c.Hostname}, func(run catalog.Run) error {
		if workspace.LocationOf(run).State != workspace.StatePath(c.Root, run.Key) {
			return nil // another root wrote it
		}
		if rank++; rank <= c.retention.KeepLast || !c.retention.covers(run) {
			return nil
		}
		c.Report.FailRun(run.Key, c.expire(ctx, run))
		return ctx.Err()
	})
}

// eachRun calls yield for each run, the newest first, and holds some hundreds of them at a time.
func (c *collector) eachRun(ctx context.Context, filter catalog.Filter, yield func(catalog.Run) error) error {
	filter.Limit = 500
	for {
		runs, err := c.Catalog.List(ctx, filter)
		if err != nil {
			return err
		}
		if len(runs) < filter.Limit {
			return forEach(runs, yield)
		}
		// The page may end amid the runs of one millisecond: those start the next one.
		oldest := runs[len(runs)-1].CreatedAt
		whole := slices.IndexFunc(runs, func(run catalog.Run) bool { return run.CreatedAt.Equal(oldest) })
		if err := forEach(runs[:whole], yield); err != nil {
			return err
		}
		if whole == 0 {
			filter.Limit *= 2
		}
		filter.Until = oldest.Add(time.Millisecond)
	}
}

func forEach(runs []catalog.Run, yield func(catalog.Run) error) error {
	for _, run := range runs {
		if err := yield(run); err != nil {
			return err
		}
	}
	return nil
}

// expire expires one run, with its lock, so that two gcs do not meet in its kept directory. After a kill the rest is found
// again: the row goes last, and blobs go after all rows.
func (c *collector) expire(ctx context.Context, run catalog.Run) error {
	if c.Dry {
		return c.giveUp(ctx, run)
	}
	t, err := workspace.Lock(c.Root, run.Key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	if info, err := t.File.Stat(); err != nil || info.Size() > 0 {
		return errors.Join(err, t.Close()) // what the run left could not be removed yet
	}
	run, err = c.Catalog.Get(ctx, run.Key)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		err = nil // another gc was faster
	case err == nil && c.retention.covers(run):
		err = c.giveUp(ctx, run)
	}
	return errors.Join(err, t.Remove())
}

func (c *collector) giveUp(ctx context.Context, run catalog.Run) error {
	place := workspace.LocationOf(run)
	there := workspace.IsInode(place.Dir, place) || workspace.IsInode(workspace.AsidePath(place.Dir, run.Attempt), place)
	uncommitted := rundir.Kept(run) != "" && (run.State == catalog.Lost || run.State == catalog.Error)
	foreign := place.Catalog != "" && place.Catalog != c.CatalogID
	if there && uncommitted && !slices.Contains(c.Report.Kept, place.Dir) {
		c.Report.Kept = append(c.Report.Kept, place.Dir)
	}
	if there && !c.retention.OutputsOnly && (uncommitted || foreign) {
		return nil
	}
	expired := pass.ExpiredRun{Key: run.Key, Outputs: run.OutputsTotal}
	err := c.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && run.OutputsRemovedAt.IsZero() {
			expired.Bytes += e.Size
		}
		return true
	})
	if err == nil && !c.Dry {
		err = c.drop(ctx, run)
	}
	if err == nil {
		c.Report.Expired = append(c.Report.Expired, expired)
		c.expired[run.Key] = true
	}
	if errors.Is(err, catalog.ErrPinned) || errors.Is(err, catalog.ErrNotFound) {
		return nil // in this moment
	}
	return err
}

func (c *collector) drop(ctx context.Context, run catalog.Run) error {
	if c.retention.OutputsOnly {
		return c.Catalog.DropOutputs(ctx, run.Key, time.Now())
	}
	if err := rundir.RemoveKept(ctx, run); err != nil {
		return err
	}
	return c.Catalog.Delete(ctx, run.Key)
}

// needed returns the digests that runs name, in a dry run as they would be named afterwards.
func (c *collector) needed(ctx context.Context) (*blob.Digests, error) {
	named := &blob.Digests{}
	note := func(sha256 string) bool {
		named.Add(sha256)
		return true
	}
	// Before the catalog is read: what is committed in between is in one of the two.
	if err := pending.Digests(c.Host, note); err != nil {
		return nil, err
	}
	if !c.Dry || len(c.expired) == 0 {
		return named, c.Catalog.Digests(ctx, note)
	}
	return named, c.eachRun(ctx, catalog.Filter{}, func(run catalog.Run) error {
		gone := c.expired[run.Key]
		if gone && !c.retention.OutputsOnly {
			return nil
		}
		for _, sha256 := range run.Blobs {
			note(sha256)
		}
		if gone || !run.OutputsRemovedAt.IsZero() {
			return nil
		}
		err := c.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool { return e.Rejected != "" || note(e.SHA256) })
		if errors.Is(err, catalog.ErrNotFound) {
			return nil // removed meanwhile
		}
		return err
	})
}
