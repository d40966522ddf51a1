package recovery

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// cleanEnded removes what an ended run left, or keeps its directory if requested, and releases its lock.
func cleanEnded(ctx context.Context, p *pass, t *workspace.StateFile, run catalog.Run) error {
	location := t.Read(workspace.LocationOf(run))
	p.record(location.Dir)
	if location.Catalog != "" && location.Catalog != p.catalogID {
		return t.Close() // a run of another catalog that shares the root
	}
	only, err := isOnlyCopy(ctx, p.Catalog, run, location)
	if err != nil {
		return errors.Join(err, t.Close())
	}
	if res, err := result.New(run); err == nil && res.PostProcess != nil && res.PostProcess.ExitCode == nil {
		p.report.PostProcess = append(p.report.PostProcess, run.Key)
	}
	location.Ended = only
	if only && !p.dry {
		err = noteUnharvested(p, run, location)
	}
	if err = errors.Join(err, clean(ctx, p, location)); err != nil || p.dry {
		return errors.Join(err, t.Close())
	}
	return t.Remove()
}

// noteUnharvested counts a directory that stays although nobody has asked for it.
func noteUnharvested(p *pass, run catalog.Run, location workspace.Location) error {
	var a spec.Analysis
	if err := json.Unmarshal(run.Request, &a); err != nil || a.Keep != spec.KeepNever {
		return nil //nolint:nilerr // a row that the catalog has lost
	}
	res, err := result.New(run)
	if err != nil {
		return err
	}
	return workspace.NoteUnharvested(p.Root, run.Key, location, res.Usage.WorkBytes)
}

// isOnlyCopy reports whether the directory of an ended run stays. A committed run's directory is no result any more, unless it
// was to be kept; that of a run taken for lost, whose launcher could not commit any more, is the only copy, and so is that of
// a run whose row the catalog has lost (rm removes the directory before the row). One that another worker has run since is
// not.
func isOnlyCopy(ctx context.Context, c catalog.Catalog, run catalog.Run, location workspace.Location) (bool, error) {
	again, err := superseded(ctx, c, run)
	if err != nil {
		return false, err
	}
	kept := keptDir(run) == location.Dir && location.Dir != ""
	return kept || location.Ended && !again && (run.State == outcome.Lost || run.ID == ""), nil
}

// superseded reports whether a run was taken for lost and the queue has given its analysis to another worker. Its later
// results are of no use, as its worker would have found, had it lived.
func superseded(ctx context.Context, c catalog.Catalog, run catalog.Run) (bool, error) {
	if run.State != outcome.Lost || keptDir(run) != "" {
		return false, nil
	}
	last, err := c.Get(ctx, catalog.Key{ID: run.ID})
	return last.Attempt > run.Attempt, workspace.Ignore(err, catalog.ErrNotFound)
}
