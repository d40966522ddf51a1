package recovery

import (
	"context"
	"slices"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/recovery/outcomes"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/recovery/resume"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Recover does the part of GC that settles the runs of killed launchers, so that each can be judged by its row. Errors are
// logged.
func Recover(ctx context.Context, host *phase.Host) error {
	if err := store.Bind(ctx, host.Catalog, host.Blobs); err != nil {
		return err
	}
	p, err := pass.New(ctx, host, false)
	if err != nil {
		return err
	}
	defer p.Close()
	err = settle(ctx, p)
	for _, err := range p.Report.Errors {
		host.Log.Warn("left to scidex-oci gc", "error", err)
	}
	return err
}

// settle settles the runs of this host whose launcher is dead: ended ones are committed, the rest marked lost.
func settle(ctx context.Context, p *pass.Pass) error {
	outcomes.Commit(ctx, p)
	runs, err := p.Catalog.List(ctx, catalog.Filter{States: []outcome.State{outcome.Running, outcome.Queued}, Host: p.Hostname})
	if err != nil {
		return err
	}
	runs = slices.DeleteFunc(runs, func(run catalog.Run) bool {
		settled, err := resume.Run(ctx, p, run)
		p.Report.FailRun(run.Key, err)
		return settled
	})
	sweepIngests(p, func(name string) bool { return resume.NeedsIngest(ctx, p, name) }) // first, so that a kept directory shares no file
	for _, run := range runs {
		p.Record(workspace.LocationOf(run).Dir)
		p.Report.FailRun(run.Key, killed.MarkLost(ctx, p, run))
	}
	return nil
}
