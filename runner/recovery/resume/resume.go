// Package resume finishes runs whose launcher was killed after the analysis had ended and before its result was committed. It
// enters the phases of a run at the harvest: harvest, judge, commit, clean.
package resume

import (
	"context"
	"errors"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery/killed"
	"github.com/scidex-ai/scidex-oci/runner/recovery/pass"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// remains are what a killed launcher left of a run whose analysis had ended, with the locks of its state file and of its
// ingest directory.
type remains struct {
	row    catalog.Run
	ended  phase.Ended // as the exit record has it
	state  *workspace.StateFile
	ingest *cas.Ingest // nil where it is lost
}

// Run harvests and commits a run whose launcher was killed after the analysis had ended. It returns false, and does nothing,
// where the working directory may be incomplete: then killed.MarkLost judges.
func Run(ctx context.Context, p *pass.Pass, run catalog.Run) (settled bool, err error) {
	ended, resumable, err := Resumable(p.Host, run)
	if !resumable {
		return errors.Is(err, record.ErrNewer), err // a newer program settles what it has noted
	}
	// Its lock first: another gc removes the directory once the run is committed.
	ingest, err := adoptIngest(p, run.Key, ended.Ingest, ending)
	if err != nil {
		return true, workspace.Ignore(err, cas.ErrOwned) // the launcher lives, or another gc is at it
	}
	if ingest != nil {
		defer ingest.Leave() // no effect once it is closed
	}
	t, err := workspace.LockWait(p.Root, run.Key) // another command may hold the lock for a moment, and leaves the rest to gc
	if err != nil {
		return true, workspace.Ignore(err, workspace.ErrLocked)
	}
	if run, err = p.Catalog.Get(ctx, run.Key); err != nil || run.State.Final() {
		return true, errors.Join(err, t.Leave())
	}
	return resume(ctx, p, remains{row: run, ended: ended, state: t, ingest: ingest})
}

// resume is Run with the locks. It releases that of the state file.
func resume(ctx context.Context, p *pass.Pass, left remains) (settled bool, err error) {
	location := left.state.Read(workspace.LocationOf(left.row))
	p.Record(location.Dir)
	dir, err := openUnharvested(location)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(leaveUnharvested(p, left.state, location), left.state.Close())
	}
	if err != nil {
		return true, errors.Join(err, left.state.Close())
	}
	if p.Dry {
		p.Report.Committed = append(p.Report.Committed, left.row.Key)
		return true, errors.Join(dir.Close(), left.state.Close())
	}
	ingest := left.ingest
	if ingest == nil { // not made before: a missing directory may mean that the run has ended since its row was read
		if ingest, err = newIngest(p, left.row.ID); err != nil {
			return true, errors.Join(err, dir.Close(), left.state.Close())
		}
		defer ingest.Leave()
	}
	location.Ended = true // the record says so, also where the launcher could not note it
	return true, finish(ctx, p, left, adopted{state: left.state, location: location, dir: dir, ingest: ingest})
}

// finish commits a run and removes what it left.
func finish(ctx context.Context, p *pass.Pass, left remains, w adopted) error {
	committed, err := commitEnd(ctx, p, left, w)
	if err != nil {
		return errors.Join(err, w.dir.Close(), w.state.Close())
	}
	p.Report.Committed = append(p.Report.Committed, committed.Key)
	return errors.Join(w.dir.Close(), killed.CleanEnded(ctx, p, w.state, committed))
}
