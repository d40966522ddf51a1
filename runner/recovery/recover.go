package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/commit"
	"github.com/scidex-ai/scidex-oci/runner/harvest"
	"github.com/scidex-ai/scidex-oci/runner/judge"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// recoveredWarning is for each run whose end gc has committed.
const recoveredWarning = "committed by recovery: scidex-oci was killed after the analysis had ended and before its result was committed"

// remains are what a killed launcher left of a run whose analysis had ended.
type remains struct {
	ended  phase.Ended
	ingest *blob.Ingest // nil while it is lost and not made again
	lost   bool         // the ingest directory is gone
}

// recover harvests and commits a run whose launcher was killed after the analysis had ended. It returns false, and does
// nothing, where the working directory may be incomplete: then killed.MarkLost judges.
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
		defer left.ingest.Leave() // no effect once it is closed
	}
	t, err := workspace.LockWait(c.Root, run.Key) // another command may hold the lock for a moment, and leaves the rest to gc
	if err != nil {
		return true, workspace.Ignore(err, workspace.ErrLocked)
	}
	if run, err = c.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return true, errors.Join(err, t.Leave())
	}
	return c.recoverHeld(ctx, t, run, left)
}

// remainsOf reads the exit record of a run. whole is false where there is none, or where the working directory may be
// incomplete.
func (c *collector) remainsOf(run catalog.Run) (left remains, whole bool, err error) {
	state := workspace.StatePath(c.Root, run.Key)
	if workspace.LocationOf(run).State != state || pending.Exists(c.Host, run.Key) {
		return left, false, nil
	}
	left.ended, err = workspace.ReadExitRecord(state)
	if err != nil || left.ended.BootID == "" || left.ended.BootID != workspace.BootID() {
		return left, false, workspace.Ignore(workspace.Ignore(err, fs.ErrNotExist), record.ErrDamaged)
	}
	return left, true, nil
}

// recoverHeld is recover with the locks of the run and of its ingest directory.
func (c *collector) recoverHeld(ctx context.Context, t *workspace.StateFile, run catalog.Run, left remains) (judged bool, err error) {
	place := t.Read(workspace.LocationOf(run))
	c.Record(place.Dir)
	dir, err := openUnharvested(place)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(c.leaveUnharvested(t, place), t.Close())
	}
	if err != nil {
		return true, errors.Join(err, t.Close())
	}
	if c.Dry {
		c.Report.Committed = append(c.Report.Committed, run.Key)
		return true, errors.Join(dir.Close(), t.Close())
	}
	// Not before: a missing directory may mean that the run has ended since its row was read.
	if left.lost {
		if left.ingest, err = c.newIngest(run.ID); err != nil {
			return true, errors.Join(err, dir.Close(), t.Close())
		}
		defer left.ingest.Leave()
	}
	place.Ended = true // the record says so, also where the launcher could not note it
	committed, err := c.commitRecovered(ctx, t, run, left, place, dir)
	if err != nil {
		return true, errors.Join(err, dir.Close(), t.Close())
	}
	c.Report.Committed = append(c.Report.Committed, run.Key)
	return true, errors.Join(dir.Close(), killed.CleanEnded(ctx, c.Pass, t, committed))
}

// leaveUnharvested handles a run without a /work to harvest. Its directory is missing, or was kept by a launcher that could
// not record so; its exit record would only delay the removal of the ingest directory.
func (c *collector) leaveUnharvested(t *workspace.StateFile, place workspace.Location) error {
	if c.Dry {
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

// openUnharvested opens a run's directory that still has a /work. That may be out of the caller's reach: the supervisor opens
// it.
func openUnharvested(place workspace.Location) (*os.File, error) {
	dir, err := workspace.OpenInode(place.Dir, place)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), workspace.WorkName, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, errors.Join(&fs.PathError{Op: "stat", Path: workspace.WorkName, Err: err}, dir.Close())
	}
	return dir, nil
}

// adopt takes over the ingest directory, or notes its absence.
func (c *collector) adopt(left *remains) (err error) {
	left.ingest, err = c.Blobs.AdoptIngest(left.ended.Ingest)
	left.lost = errors.Is(err, fs.ErrNotExist)
	return workspace.Ignore(err, fs.ErrNotExist)
}

// newIngest makes an ingest directory the supervisor may write to.
func (c *collector) newIngest(id string) (*blob.Ingest, error) {
	ingest, err := c.Blobs.NewIngest(id)
	if err != nil || !c.Access.Account.Root() {
		return ingest, err
	}
	return ingest, ingest.Chown(c.Access.Account.HostUID(0), c.Access.Account.HostGID(0))
}

// commitRecovered does the launcher's steps from the harvest to the commit, and returns the row. A hook stays pending.
func (c *collector) commitRecovered(ctx context.Context, t *workspace.StateFile, run catalog.Run, left remains, place workspace.Location, dir *os.File) (catalog.Run, error) {
	ended, err := resume(run, left)
	if err != nil {
		return run, err
	}
	run.StartedAt, run.FinishedAt = ended.StartedAt, ended.Exit.Finished.UTC()
	supervisor, err := c.Access.Supervisor(ctx)
	if err != nil {
		return run, err
	}
	end := commit.End{Row: run, Ended: ended, Place: place, HasWork: true}
	harvested, failed := c.harvest(ctx, t, place, ended, harvest.Source{
		Supervisor: supervisor.Session, Dir: dir, Ingest: left.ingest, Root: c.Access.Account.Root(),
	})
	if end.Harvest = harvested; failed != nil { // which is part of the result
		end.Failure = &judge.Failure{Reason: result.ReasonHarvest, Err: failed}
	}
	f, err := commit.Judge(end, time.Now())
	if err == nil {
		stores := commit.Stores{Ledger: c.Catalog, Blobs: c.Blobs, Timeout: c.CommitTimeout, Log: c.Log}
		err = stores.Run(ctx, f.Row, harvested.Entries, nil)
	}
	err = errors.Join(err, harvested.Entries.Close())
	if err == nil {
		err = left.ingest.Close()
	}
	return f.Row, err
}

// harvest notes that the analysis has ended, and harvests.
func (c *collector) harvest(ctx context.Context, t *workspace.StateFile, place workspace.Location, ended phase.Ended, from harvest.Source) (harvest.Harvested, error) {
	if err := t.Record(place); err != nil {
		return harvest.Nothing(), err
	}
	return harvest.Run(ctx, from, ended)
}

// resume returns the end of the analysis as its launcher noted it, with warnings about what only the launcher could do.
func resume(run catalog.Run, left remains) (phase.Ended, error) {
	ended := left.ended
	ended.Key = run.Key
	if err := json.Unmarshal(run.Request, &ended.Analysis); err != nil {
		return ended, fmt.Errorf("read the recorded request: %w", err)
	}
	warnings := append(ended.Report.Warnings, recoveredWarning)
	if export := ended.Analysis.Export; export != "" {
		warnings = append(warnings, fmt.Sprintf("nothing was exported to %q; do it with \"scidex-oci outputs export %s DIR\"", export, run.Key))
	}
	if left.lost {
		warnings = append(warnings, "the logs are lost: the directory that held them was gone")
	}
	if !ended.Outer {
		warnings = append(warnings, plan.LimitWarnings(ended.Report.Enforced)...)
	}
	ended.Report.Warnings = warnings
	return ended, nil
}
