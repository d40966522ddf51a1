package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// markLost ends the record of a run whose launcher is dead and removes what it left.
func markLost(ctx context.Context, p *pass, run catalog.Run) error {
	if ofAnotherRoot(p.Root, run) {
		return nil
	}
	namesake, err := ofNamesake(p.Root, run)
	if err != nil || namesake {
		return err
	}
	t, err := workspace.Lock(p.Root, run.Key)
	if errors.Is(err, workspace.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	// It may have ended between the listing and the lock; its state file is then swept separately.
	if run, err = p.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return errors.Join(err, t.Leave())
	}
	return markLostLocked(ctx, p, t, run)
}

// markLostLocked is markLost with the lock of the run, which it releases.
func markLostLocked(ctx context.Context, p *pass, t *workspace.StateFile, run catalog.Run) error {
	location := t.Read(workspace.LocationOf(run))
	p.record(location.Dir)
	if pending.Exists(p.Host, run.Key) {
		return t.Close() // the commit of what is pending has logged the reason
	}
	if p.dry {
		p.report.Lost = append(p.report.Lost, run.Key)
		return errors.Join(clean(ctx, p, location), t.Close())
	}
	// Removing comes first: a gc that dies in between finds the run again.
	err := clean(ctx, p, location)
	if err == nil {
		err = commitLost(ctx, p.Catalog, run, location)
	}
	if err != nil {
		return errors.Join(err, t.Close())
	}
	p.report.Lost = append(p.report.Lost, run.Key)
	return t.Remove()
}

func commitLost(ctx context.Context, c catalog.Catalog, run catalog.Run, location workspace.Location) (err error) {
	run.Outcome = outcome.Fault(outcome.ReasonSupervisorLost, lostMessage(location))
	if location.Ended {
		if run.Report, err = json.Marshal(result.Report{Kept: location.Dir}); err != nil {
			return err
		}
	}
	run.FinishedAt = run.EndsNow()
	if run.Place, err = json.Marshal(location); err != nil { // the intent row does not have the inode
		return err
	}
	return c.Commit(ctx, run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF })
}

func lostMessage(location workspace.Location) string {
	switch {
	case !location.Ended:
		return "scidex-oci was killed while the analysis ran"
	case location.Promised:
		return "the result could be neither committed nor kept for later; what the analysis wrote is in " + location.Dir
	default:
		return "scidex-oci was killed before the result was committed; what the analysis wrote is in " + location.Dir
	}
}
