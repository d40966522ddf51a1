package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

// recoveredWarning is said of every run whose end gc has committed.
const recoveredWarning = "committed by recovery: scidex-oci was killed after the analysis had ended and before its result was committed"

// recover harvests and commits a run whose launcher was killed after the analysis had ended. Where it cannot be known
// that the working directory is whole it does nothing: reap judges.
func (c *collector) recover(ctx context.Context, run catalog.Run) error {
	state := statePath(c.Root, run.Key)
	if placeOf(run).State != state || c.waits(run.Key) {
		return nil
	}
	a, staged, err := readAftermath(state)
	if err != nil || a.BootID == "" || a.BootID != bootID() {
		return ignoreAbsent(err)
	}
	// Its lock first: another gc would remove it as soon as the run is committed.
	ingest, err := c.Blobs.AdoptIngest(a.Ingest)
	if errors.Is(err, blob.ErrOwned) {
		return nil // its launcher, or another gc
	}
	lost := errors.Is(err, fs.ErrNotExist)
	if lost && !c.dry {
		ingest, err = c.newIngest(run.ID)
	}
	if err != nil && !(lost && c.dry) {
		return err
	}
	if ingest != nil {
		defer ingest.Leave() // after its end it is closed, and this does nothing
	}
	t, err := hold(c.Root, run.Key)
	if errors.Is(err, errAlive) {
		return nil
	}
	if err != nil {
		return err
	}
	if run, err = c.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return errors.Join(err, t.leave())
	}
	place := t.read(placeOf(run))
	c.known[place.Dir] = true
	dir, err := openWorkdir(place)
	if err != nil || !place.Ended || c.dry {
		return errors.Join(c.wouldRecover(run, place, err), t.close())
	}
	e, err := c.resume(ctx, run, a, staged)
	if err != nil {
		return errors.Join(err, dir.close(), t.close())
	}
	e.tenure, e.place, e.dir, e.ingest = t, place, dir, ingest
	if lost {
		e.report.Warnings = append(e.report.Warnings, "the logs are lost: the directory that held them was gone")
	}
	if err := e.finishRecovered(ctx); err != nil {
		return errors.Join(err, dir.close(), t.close())
	}
	c.report.Committed = append(c.report.Committed, run.Key)
	return errors.Join(dir.close(), c.sweepEnded(ctx, t, e.run))
}

// wouldRecover notes, dry, what recover would commit.
func (c *collector) wouldRecover(run catalog.Run, place Place, err error) error {
	if err == nil && place.Ended {
		c.report.Committed = append(c.report.Committed, run.Key)
	}
	return ignoreAbsent(err)
}

// ignoreAbsent leaves to reap what is not there or not whole.
func ignoreAbsent(err error) error {
	return ignore(ignore(err, fs.ErrNotExist), errDamaged)
}

// newIngest is an ingest directory that the supervisor may write to.
func (c *collector) newIngest(id string) (*blob.Ingest, error) {
	ingest, err := c.Blobs.NewIngest(id)
	if err != nil || !c.account.Root() {
		return ingest, err
	}
	return ingest, ingest.Chown(c.account.HostUID(0), c.account.HostGID(0))
}

// resume is the execution as it was when its launcher had noted the end.
func (c *collector) resume(ctx context.Context, run catalog.Run, a aftermath, staged []outputs.Entry) (*execution, error) {
	var analysis spec.Analysis
	if err := json.Unmarshal(run.Request, &analysis); err != nil {
		return nil, fmt.Errorf("read the recorded request: %w", err)
	}
	declared, err := outputs.NewDeclared(analysis.Outputs)
	if err != nil {
		return nil, err
	}
	supervisor, err := c.launch(ctx)
	if err != nil {
		return nil, err
	}
	e := &execution{
		Runner: c.Runner, recovered: true, suspender: &Suspender{}, supervisor: supervisor, run: run, staged: staged,
		plan: &plan{
			key: run.Key, analysis: analysis, account: c.account, declared: declared, audit: a.Audit, command: a.Command,
			inputs: &inputSet{hasData: a.HasData, hasDocs: a.HasDocs, script: &script{inside: a.Inside}},
		},
		stopped: a.Stopped, stoppedAt: a.StoppedAt, insisted: a.Insisted, exit: a.Exit, report: a.Report,
	}
	e.run.StartedAt, e.run.FinishedAt = a.StartedAt, a.Exit.Finished.UTC()
	e.report.Warnings = append(e.report.Warnings, recoveredWarning)
	if a.Outer {
		e.outer = &outerHold{held: cgroup.Held{Limits: cgroup.Limits{Pids: a.PidsLimit}}}
	}
	if a.Hook != nil {
		e.request.Hook = &Hook{Command: a.Hook.Command, Always: a.Hook.Always}
	}
	if analysis.Export != "" {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("nothing was exported to %q; do it with \"scidex-oci outputs export %s DIR\"",
			analysis.Export, groupName(run.Key)))
	}
	e.recorded(a)
	return e, nil
}

// recorded makes the sinks as they were.
func (e *execution) recorded(a aftermath) {
	for i, h := range a.Logs {
		if h != nil {
			e.sinks[i] = &logSink{total: h.Total, kept: h.Kept, left: h}
		}
	}
	if a.Script != nil {
		e.script = &logSink{total: a.Script.Total, kept: a.Script.Kept, left: a.Script}
	}
}

// finishRecovered does what the launcher would have done up to the commit. A hook stays owed.
func (e *execution) finishRecovered(ctx context.Context) error {
	for _, sink := range append(e.sinks[:], e.script) {
		if sink != nil {
			sink.ingest = e.ingest
		}
	}
	var reason Reason
	failure := e.harvest()
	if failure != nil {
		reason = ReasonHarvest
	}
	_, _, err := e.conclude(ctx, reason, failure)
	err = errors.Join(err, e.entries.close())
	if err == nil {
		err = e.ingest.Close()
	}
	return err
}
