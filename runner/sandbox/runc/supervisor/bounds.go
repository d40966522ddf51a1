package supervisor

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/runc/supervisor/watchdog"
)

// watchBounds starts the run's watchdog. The kernel bounds a tmpfs at /work.
func (a *analysis) watchBounds(ctx context.Context) *watchdog.Watchdog {
	c := watchdog.Config{
		Bound: a.job.Bound, Floor: a.job.Floor, Links: a.job.Links, Proc: a.proc.Name(), Paths: a.job.WorkDirs,
		Kill: a.kill,
		Kept: []watchdog.Kept{{Dir: a.work.ingest, Of: "the blob store"}},
	}
	if a.job.WorkTmpfs == nil {
		c.Work, c.Kept = a.work.dir, append([]watchdog.Kept{{Dir: a.work.dir, Of: "/work"}}, c.Kept...)
	}
	return watchdog.Start(ctx, c)
}

// bounds adds the watchdog's finding to the run's end, and the size of /work now that it no longer changes.
func (a *analysis) bounds(ctx context.Context, exit *sandbox.Exit) {
	var f watchdog.Finding
	if a.watchdog != nil {
		f = a.watchdog.Stop()
	}
	exit.WorkFull, exit.HostFull = f.Full, f.Short
	last, err := a.work.measure(ctx)
	exit.Work = f.Peak.Peak(last)
	if err == nil && last.Files <= a.work.most().Files {
		exit.Names = last.Files
	}
	full, unknown := a.work.noSpace()
	exit.NoSpace = full
	switch err = errors.Join(err, unknown); {
	case f.Err != nil:
		exit.WatchError = fmt.Sprintf("the bounds of /work could not be watched: %v", f.Err)
		return
	case err != nil:
		exit.WatchError = fmt.Sprintf("the analysis has ended, and whether /work is within its bounds could not be measured: %v", err)
		return
	}
	if a.job.WorkTmpfs == nil && exit.WorkFull == nil && last.Exceeds(a.job.Bound) {
		exit.WorkFull = &last
	}
}
