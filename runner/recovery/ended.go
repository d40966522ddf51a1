package recovery

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// cleanEnded removes what state files of ended runs still name: runs whose cleaning failed.
func cleanEnded(ctx context.Context, p *pass.Pass) {
	entries, err := os.ReadDir(filepath.Join(p.Root, "runs"))
	p.Report.Fail(workspace.Ignore(err, fs.ErrNotExist))
	for _, entry := range entries {
		if key, ok := workspace.KeyOfState(entry.Name()); ok {
			p.Report.FailRun(key, cleanEndedRun(ctx, p, key))
		}
	}
}

func cleanEndedRun(ctx context.Context, p *pass.Pass, key catalog.Key) error {
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
		return killed.CleanUnbegun(ctx, p, t, run)
	}
	if pending.Exists(p.Host, key) {
		p.Record(t.Read(workspace.LocationOf(run)).Dir)
		return t.Leave()
	}
	return killed.CleanEnded(ctx, p, t, run)
}
