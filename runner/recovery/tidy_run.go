package recovery

import (
	"context"
	"errors"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// errToHarvest is why a run with a result is left to GC.
var errToHarvest = errors.New("its analysis had ended, and what it wrote has to be harvested")

// tidyRun handles one dead run, whose lock it releases.
func tidyRun(ctx context.Context, p *pass, t *workspace.StateFile, key catalog.Key) error {
	if location := t.Read(workspace.Location{}); location.Catalog != "" && location.Catalog != p.catalogID {
		return t.Close() // a run of another catalog that shares the root
	}
	run, err := p.Catalog.Get(ctx, key)
	if err != nil && !errors.Is(err, catalog.ErrNotFound) || pending.Exists(p.Host, key) {
		return errors.Join(err, t.Close()) // CommitPending has logged the reason
	}
	open := err == nil && !run.State.Final()
	if open && (run.Host != p.hostname || ofAnotherRoot(p.Root, run)) {
		return cleanWithoutIntent(ctx, p, t, run)
	}
	if open {
		_, resumable, err := resumableEnd(p.Host, run)
		if resumable {
			err = errToHarvest
		}
		if err != nil {
			return errors.Join(err, t.Close())
		}
	}
	sweepIngestsOf(ctx, p, key.ID) // first, as GC does
	if open {
		return markLostLocked(ctx, p, t, run)
	}
	return cleanEnded(ctx, p, t, run)
}

// supervisorTime bounds the wait for a supervisor that lives a moment longer than its launcher, and holds the ingest directory until then.
// What it holds after that is left to GC: the state file is gone, by which later commands would find it.
const supervisorTime = time.Second

// sweepIngestsOf removes the ingest directories of a dead run.
func sweepIngestsOf(ctx context.Context, p *pass, id string) {
	spare := func(name string) bool {
		of, ok := idOfIngest(name)
		return !ok || of != id || needsIngest(ctx, p, name)
	}
	waiting, cancel := context.WithTimeout(ctx, supervisorTime)
	defer cancel()
	untilFree(waiting, func() []string { return sweepIngests(p, spare) })
}

// untilFree sweeps until nothing is held, or ctx is done.
func untilFree(ctx context.Context, sweep func() (held []string)) {
	for len(sweep()) > 0 && ctx.Err() == nil {
		time.Sleep(10 * time.Millisecond)
	}
}
