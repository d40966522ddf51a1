package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/suspend"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// recoveredWarning is said of every run whose end gc has committed.
const recoveredWarning = "committed by recovery: scidex-oci was killed after the analysis had ended and before its result was committed"

// remains are what a killed launcher has left of a run whose analysis had ended.
type remains struct {
	workspace.ExitRecord
	staged []outputs.Entry
	ingest *blob.Ingest // nil as long as it is lost and no other is made
	lost   bool         // the ingest directory was gone
}

// recover harvests and commits a run whose launcher was killed after the analysis had ended. It reports false, and
// does nothing, where it cannot be known that the working directory is whole: then reap judges.
func (c *collector) recover(ctx context.Context, run catalog.Run) (judged bool, err error) {
	left, whole, err := c.remainsOf(run)
	if !whole {
		return false, err
	}
	// Its lock first: another gc removes the directory once the run is committed.
	if err := c.adopt(&left); err != nil {
		return true, workspace.Ignore(err, blob.ErrOwned) // the launcher lives, or another gc is at it
	}
	if !left.lost {
		defer left.ingest.Leave() // where it is closed by then, this does nothing
	}
	t, err := workspace.LockWait(c.Root, run.Key) // a command that tidies may have the lock for a moment, and leaves the rest to gc
	if err != nil {
		return true, workspace.Ignore(err, workspace.ErrLocked)
	}
	if run, err = c.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return true, errors.Join(err, t.Leave())
	}
	return c.recoverHeld(ctx, t, run, left)
}

// remainsOf reads what was noted at the end of a run's analysis. It is not whole where there is none, or where nobody knows
// whether the working directory is.
func (c *collector) remainsOf(run catalog.Run) (left remains, whole bool, err error) {
	state := workspace.StatePath(c.Root, run.Key)
	if workspace.LocationOf(run).State != state || pending.Exists(c.Host, run.Key) {
		return left, false, nil
	}
	left.ExitRecord, left.staged, err = workspace.ReadExitRecord(state)
	if err != nil || left.BootID == "" || left.BootID != workspace.BootID() {
		return left, false, workspace.Ignore(workspace.Ignore(err, fs.ErrNotExist), record.ErrDamaged)
	}
	return left, true, nil
}

// recoverHeld is recover with the locks of the run and of its ingest directory.
func (c *collector) recoverHeld(ctx context.Context, t *workspace.StateFile, run catalog.Run, left remains) (judged bool, err error) {
	place := t.Read(workspace.LocationOf(run))
	c.known[place.Dir] = true
	dir, err := openUnowned(place)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(c.leaveUnharvested(t, place), dir.Close(), t.Close())
	}
	if err != nil {
		return true, errors.Join(err, t.Close())
	}
	if c.dry {
		c.report.Committed = append(c.report.Committed, run.Key)
		return true, errors.Join(dir.Close(), t.Close())
	}
	// Not before: a directory that is gone may mean that the run has come to its end since its row was read.
	if left.lost {
		if left.ingest, err = c.newIngest(run.ID); err != nil {
			return true, errors.Join(err, dir.Close(), t.Close())
		}
		defer left.ingest.Leave()
	}
	e, err := c.resume(ctx, run, left)
	if err == nil {
		place.Ended = true // the aftermath says so, also where the launcher did not come to record it
		e.tenure, e.place, e.dir = t, place, dir
		err = e.finishRecovered(ctx)
	}
	if err != nil {
		return true, errors.Join(err, dir.Close(), t.Close())
	}
	c.report.Committed = append(c.report.Committed, run.Key)
	return true, errors.Join(dir.Close(), c.sweepEnded(ctx, t, e.run))
}

// leaveUnharvested is for a run whose /work is not there to be harvested. Its directory is gone, or has been kept by a launcher that
// could not record so; the record of the end would only hold up the removal of the ingest directory.
func (c *collector) leaveUnharvested(t *workspace.StateFile, place workspace.Location) error {
	if c.dry {
		return nil
	}
	is, err := workspace.LookInode(place.Dir, place)
	if err == nil && is && !place.Ended {
		place.Ended = true
		err = t.Record(place)
	}
	if err != nil {
		return err
	}
	return workspace.Ignore(os.Remove(workspace.ExitRecordPath(t.Path)), fs.ErrNotExist)
}

// openUnowned opens a run's directory. What is /work of it may be out of the caller's reach: the supervisor opens it.
func openUnowned(place workspace.Location) (_ *workspace.Workdir, err error) {
	w := &workspace.Workdir{Path: place.Dir}
	if w.Dir, err = workspace.OpenInode(place.Dir, place); err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(w.Dir.Fd()), workspace.WorkName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: workspace.WorkName, Err: err}, w.Close())
	}
	return w, nil
}

// adopt takes over the ingest directory, or notes that it is gone.
func (c *collector) adopt(left *remains) (err error) {
	left.ingest, err = c.Blobs.AdoptIngest(left.Ingest)
	left.lost = errors.Is(err, fs.ErrNotExist)
	return workspace.Ignore(err, fs.ErrNotExist)
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
func (c *collector) resume(ctx context.Context, run catalog.Run, a remains) (*execution, error) {
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
		Host: c.Host, recovered: true, suspender: &suspend.Suspender{}, supervisor: supervisor.Session, run: run, staged: a.staged, ingest: a.ingest,
		plan: &plan.Plan{
			Key: run.Key, Analysis: analysis, Account: c.account, Declared: declared, Audit: a.Audit, Command: a.Command,
			Inputs: &inputs.Set{HasData: a.HasData, HasDocs: a.HasDocs, Script: &inputs.Script{Inside: a.Inside}},
		},
		stopped: a.Stopped, stoppedAt: a.StoppedAt, insisted: a.Insisted, exit: a.Exit, report: a.Report,
	}
	e.run.StartedAt, e.run.FinishedAt = a.StartedAt, a.Exit.Finished.UTC()
	e.report.Warnings = append(e.report.Warnings, recoveredWarning)
	if a.Outer {
		e.outer = &outerHold{held: cgroup.Held{Limits: cgroup.Limits{Pids: a.PidsLimit}}}
	}
	if a.Hook != nil {
		e.request.Hook = &request.Hook{Command: a.Hook.Command, Always: a.Hook.Always}
	}
	if analysis.Export != "" {
		e.report.Warnings = append(e.report.Warnings, fmt.Sprintf("nothing was exported to %q; do it with \"scidex-oci outputs export %s DIR\"",
			analysis.Export, run.String()))
	}
	if a.lost {
		e.report.Warnings = append(e.report.Warnings, "the logs are lost: the directory that held them was gone")
	}
	e.recorded(a.ExitRecord)
	return e, nil
}

// recorded makes the sinks as they were.
func (e *execution) recorded(a workspace.ExitRecord) {
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
	var reason result.Reason
	failure := e.harvest()
	if failure != nil {
		reason = result.ReasonHarvest
	}
	_, _, err := e.conclude(ctx, reason, failure)
	err = errors.Join(err, e.entries.close())
	if err == nil {
		err = e.ingest.Close()
	}
	return err
}
