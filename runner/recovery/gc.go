package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/blobs"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/recovery/outcomes"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/recovery/retention"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// GCReport is what gc did or, dry, would do.
type GCReport = pass.Report

// Retention says which runs gc expires.
type Retention = retention.Policy

// collector is one gc.
type collector struct {
	*pass.Pass
}

// GC removes what killed runs of this root and user left. It touches only what a run of this catalog or a state file of this
// root records, by device and inode, and nothing of a live run. A committed result stays unless retention expires it; a
// caller who may not delete is refused before anything is touched.
func GC(ctx context.Context, host *phase.Host, dryRun bool, policy Retention) (GCReport, error) {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return GCReport{}, err
	}
	if policy.Asked() {
		if err := mayDelete(ctx, host.Catalog); err != nil {
			return GCReport{}, err
		}
	}
	c, err := newCollector(ctx, host, dryRun)
	if err != nil {
		return GCReport{}, err
	}
	defer c.Close()
	if err := c.settle(ctx); err != nil {
		return c.Report, err
	}
	c.sweepStates(ctx)
	expired, err := retention.Apply(ctx, c.Pass, policy)
	if err != nil {
		return c.Report, err
	}
	c.findForeign(ctx)
	c.sweepViews(ctx)
	c.Report.Fail(blobs.Sweep(ctx, c.Pass, expired))
	return c.Report, nil
}

// settle settles the runs of this host whose launcher is dead: ended ones are committed, the rest marked lost.
func (c *collector) settle(ctx context.Context) error {
	outcomes.Commit(ctx, c.Pass)
	runs, err := c.Catalog.List(ctx, catalog.Filter{States: []catalog.State{catalog.Running, catalog.Queued}, Host: c.Hostname})
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(run catalog.Run) bool {
		judged, err := c.recover(ctx, run)
		c.Report.FailRun(run.Key, err)
		return judged
	})
	c.sweepIngests(func(name string) bool { return c.resumable(ctx, name) }) // first, so that a kept directory shares no file
	for _, run := range runs {
		c.Record(workspace.LocationOf(run).Dir)
		c.Report.FailRun(run.Key, killed.MarkLost(ctx, c.Pass, run))
	}
	return nil
}

// Recover does the part of GC that settles the runs of killed launchers, so that each can be judged by its row. Errors are
// logged.
func Recover(ctx context.Context, host *phase.Host) error {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return err
	}
	c, err := newCollector(ctx, host, false)
	if err != nil {
		return err
	}
	defer c.Close()
	err = c.settle(ctx)
	for _, err := range c.Report.Errors {
		host.Log.Warn("left to scidex-oci gc", "error", err)
	}
	return err
}

func newCollector(ctx context.Context, host *phase.Host, dry bool) (*collector, error) {
	p, err := pass.New(ctx, host, dry)
	if err != nil {
		return nil, err
	}
	return &collector{p}, nil
}

// sweepIngests removes the ingest directories of dead launchers, except those that spare names.
func (c *collector) sweepIngests(spare func(name string) bool) {
	act := c.Blobs.CleanIngests
	if c.Dry {
		act = c.Blobs.DeadIngests
	}
	removed, err := act(spare)
	c.Report.Removed = append(c.Report.Removed, removed...)
	c.Report.Fail(err)
}

// sweepStates removes what state files of ended runs still name: runs whose cleaning failed.
func (c *collector) sweepStates(ctx context.Context) {
	entries, err := os.ReadDir(filepath.Join(c.Root, "runs"))
	c.Report.Fail(workspace.Ignore(err, fs.ErrNotExist))
	for _, entry := range entries {
		key, ok := workspace.KeyOfState(entry.Name())
		if !ok {
			continue
		}
		c.Report.FailRun(key, c.sweepState(ctx, key))
	}
}

func (c *collector) sweepState(ctx context.Context, key catalog.Key) error {
	t, err := workspace.Lock(c.Root, key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	run, err := c.Catalog.Get(ctx, key)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) || err == nil && !run.State.Final() {
		return errors.Join(err, t.Close()) // killed.MarkLost has reported the error
	}
	if pending.Exists(c.Host, key) {
		c.Record(t.Read(workspace.LocationOf(run)).Dir)
		return t.Leave()
	}
	return killed.CleanEnded(ctx, c.Pass, t, run)
}
