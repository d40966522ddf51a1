package recovery

import (
	"context"
	"errors"
	"io/fs"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// remains are what a killed launcher left of a run whose analysis had ended, with the locks of its state file and of its
// ingest directory.
type remains struct {
	row    catalog.Run
	ended  phase.Ended // as the exit record has it
	state  *workspace.StateFile
	ingest *cas.Ingest // nil if it is lost
}

// resume harvests and commits a run whose launcher was killed after the analysis had ended. It returns false, and does nothing,
// if the working directory may be incomplete: then markLost decides.
func resume(ctx context.Context, p *pass, run catalog.Run) (done bool, err error) {
	ended, resumable, err := resumableEnd(p.Host, run)
	if !resumable {
		return errors.Is(err, record.ErrNewer), err // a newer program finishes what it has noted
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
	return resumeLocked(ctx, p, remains{row: run, ended: ended, state: t, ingest: ingest})
}

// resumeLocked is resume with the locks. It releases that of the state file.
func resumeLocked(ctx context.Context, p *pass, left remains) (done bool, err error) {
	location := left.state.Read(workspace.LocationOf(left.row))
	p.record(location.Dir)
	dir, err := openUnharvested(location)
	if errors.Is(err, fs.ErrNotExist) {
		return false, errors.Join(leaveUnharvested(p, left.state, location), left.state.Close())
	}
	if err != nil {
		return true, errors.Join(err, left.state.Close())
	}
	if p.dry {
		p.report.Committed = append(p.report.Committed, left.row.Key)
		return true, errors.Join(dir.Close(), left.state.Close())
	}
	ingest := left.ingest
	if ingest == nil { // not made before: a missing directory may mean that the run has ended since its row was read
		if ingest, err = newIngest(p, left.row.ID); err != nil {
			return true, errors.Join(err, dir.Close(), left.state.Close())
		}
		defer ingest.Leave()
	}
	location.Ended = true // the record says so, even if the launcher could not note it
	return true, finish(ctx, p, left, adopted{state: left.state, location: location, dir: dir, ingest: ingest})
}

// finish commits a run and removes what it left.
func finish(ctx context.Context, p *pass, left remains, w adopted) error {
	committed, err := commitEnd(ctx, p, left, w)
	if err != nil {
		return errors.Join(err, w.dir.Close(), w.state.Close())
	}
	p.report.Committed = append(p.report.Committed, committed.Key)
	return errors.Join(w.dir.Close(), cleanEnded(ctx, p, w.state, committed))
}
