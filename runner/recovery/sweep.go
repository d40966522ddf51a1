package recovery

import (
	"context"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// sweepIngests removes the ingest directories of dead launchers, except those that spare names, and returns those that are held.
func sweepIngests(p *pass, spare func(name string) bool) (held []string) {
	act := p.Blobs.CleanIngests
	if p.dry {
		act = p.Blobs.DeadIngests
	}
	removed, held, err := act(spare)
	p.report.Removed = append(p.report.Removed, removed...)
	p.report.fail(err)
	return held
}

// sweepViews removes killed launchers' copies for hooks.
func sweepViews(ctx context.Context, p *pass) {
	removed, err := deliver.SweepViews(ctx, p.Root, p.dry)
	p.report.Removed = append(p.report.Removed, removed...)
	p.report.fail(err)
}

// sweepStateFiles removes what state files of ended runs still name: runs whose cleaning failed.
func sweepStateFiles(ctx context.Context, p *pass) {
	keys, err := stateFiles(p.Root)
	p.report.fail(err)
	for _, key := range keys {
		p.report.failRun(key, sweepStateFile(ctx, p, key))
	}
}

func sweepStateFile(ctx context.Context, p *pass, key catalog.Key) error {
	t, err := workspace.Lock(p.Root, key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	run, err := p.Catalog.Get(ctx, key)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) {
		return errors.Join(err, t.Close())
	}
	if err == nil && !run.State.Final() {
		return cleanWithoutIntent(ctx, p, t, run)
	}
	if pending.Exists(p.Host, key) {
		p.record(t.Read(workspace.LocationOf(run)).Dir)
		return t.Leave()
	}
	return cleanEnded(ctx, p, t, run)
}
