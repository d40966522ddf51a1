package recovery

import (
	"context"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Recover does the part of GC that ends the runs of killed launchers, so that each can be judged by its row. Errors are logged.
func Recover(ctx context.Context, host *phase.Host) error {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return err
	}
	p, err := newPass(ctx, host, false)
	if err != nil {
		return err
	}
	defer p.close()
	err = endDeadRuns(ctx, p)
	for _, err := range p.report.Errors {
		host.Log.Warn("left to scidex-oci gc", "error", err)
	}
	return err
}

// endDeadRuns ends the runs of this host whose launcher is dead: those whose analysis had ended are committed, the rest marked lost.
func endDeadRuns(ctx context.Context, p *pass) error {
	committer{pass: p}.all(ctx)
	runs, err := p.Catalog.List(ctx, catalog.Filter{States: []outcome.State{outcome.Running, outcome.Queued}, Host: p.hostname})
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(run catalog.Run) bool {
		done, err := resume(ctx, p, run)
		p.report.failRun(run.Key, err)
		return done
	})
	sweepIngests(p, func(name string) bool { return needsIngest(ctx, p, name) }) // first, so that a kept directory shares no file
	for _, run := range runs {
		p.record(workspace.LocationOf(run).Dir)
		p.report.failRun(run.Key, markLost(ctx, p, run))
	}
	return nil
}
