package recovery

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// expiredRuns are the runs that retention removed, or would.
type expiredRuns struct {
	Runs        map[catalog.Key]bool
	OutputsOnly bool
}

// expireRuns applies retention. A run that could not be removed does not stop the rest.
func expireRuns(ctx context.Context, p *pass, policy Retention) (expiredRuns, error) {
	expired := expiredRuns{Runs: map[catalog.Key]bool{}, OutputsOnly: policy.OutputsOnly}
	if !policy.Asked() {
		return expired, nil
	}
	rank := 0
	return expired, eachRun(ctx, p.Catalog, catalog.Filter{Host: p.hostname}, func(run catalog.Run) error {
		if workspace.LocationOf(run).State != workspace.StatePath(p.Root, run.Key) {
			return nil // another root wrote it
		}
		if rank++; rank <= policy.KeepLast || !policy.covers(run) {
			return nil
		}
		gone, err := expire(ctx, p, policy, run)
		if gone {
			expired.Runs[run.Key] = true
		}
		p.report.failRun(run.Key, err)
		return ctx.Err()
	})
}

// expire expires one run, with its lock, so that two gcs do not meet in its kept directory. After a kill the rest is found
// again: the row goes last, and blobs go after all rows.
func expire(ctx context.Context, p *pass, policy Retention, run catalog.Run) (gone bool, err error) {
	if p.dry {
		return removeExpired(ctx, p, policy, run)
	}
	t, err := workspace.Lock(p.Root, run.Key)
	if errors.Is(err, workspace.ErrLocked) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if info, err := t.File.Stat(); err != nil || info.Size() > 0 {
		return false, errors.Join(err, t.Close()) // what the run left could not be removed yet
	}
	run, err = p.Catalog.Get(ctx, run.Key)
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		err = nil // another gc was faster
	case err == nil && policy.covers(run):
		gone, err = removeExpired(ctx, p, policy, run)
	}
	return gone, errors.Join(err, t.Remove())
}

// removeExpired removes a run unless its directory is there and is the only copy, or is of another catalog.
func removeExpired(ctx context.Context, p *pass, policy Retention, run catalog.Run) (gone bool, err error) {
	location := workspace.LocationOf(run)
	there := workspace.IsInode(location.Dir, location) || workspace.IsInode(workspace.AsidePath(location.Dir, run.Attempt), location)
	uncommitted := keptDir(run) != "" && (run.State == outcome.Lost || run.State == outcome.Error)
	foreign := location.Catalog != "" && location.Catalog != p.catalogID
	if there && uncommitted && !slices.Contains(p.report.Kept, location.Dir) {
		p.report.Kept = append(p.report.Kept, location.Dir)
	}
	if there && !policy.OutputsOnly && (uncommitted || foreign) {
		return false, nil
	}
	expired := ExpiredRun{Key: run.Key, Outputs: run.OutputsTotal}
	if expired.Bytes, err = outputBytes(ctx, p.Catalog, run); err == nil && !p.dry {
		err = drop(ctx, p, policy, run)
	}
	if errors.Is(err, catalog.ErrPinned) || errors.Is(err, catalog.ErrNotFound) {
		return false, nil // in this moment
	}
	if err != nil {
		return false, err
	}
	p.report.Expired = append(p.report.Expired, expired)
	return true, nil
}

// outputBytes is the size of the outputs that a run still has.
func outputBytes(ctx context.Context, c catalog.Catalog, run catalog.Run) (bytes int64, err error) {
	err = c.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		if e.Rejected == "" && run.OutputsRemovedAt.IsZero() {
			bytes += e.Size
		}
		return true
	})
	return bytes, err
}

func drop(ctx context.Context, p *pass, policy Retention, run catalog.Run) error {
	if policy.OutputsOnly {
		return p.Catalog.DropOutputs(ctx, run.Key, time.Now())
	}
	return removeRun(ctx, p.Host, run)
}
