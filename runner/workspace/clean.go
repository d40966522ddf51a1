package workspace

import (
	"context"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/warm"
)

// Clean removes the working directory, or keeps it for the user with these links to the inputs. lost are warnings about what
// it could not keep.
func (w *Workspace) Clean(ctx context.Context, keep bool, links map[string]string) (lost []string, err error) {
	if w.Dir == nil {
		return nil, nil
	}
	// Without a supervisor nothing has run: what is there is our own.
	if w.Supervisor == nil && !keep && outputs.Empty(ctx, w.Dir.Work) == nil {
		return nil, w.Dir.Remove()
	}
	if lost, err = w.empty(ctx, keep); err != nil {
		return lost, err
	}
	if keep {
		return lost, w.Dir.Keep(ctx, w.Account, links)
	}
	return lost, w.Dir.Remove()
}

// empty has the supervisor clean the directories: files of the analysis' id are out of the launcher's reach.
func (w *Workspace) empty(ctx context.Context, keep bool) (lost []string, err error) {
	if err := w.revive(ctx); err != nil {
		return nil, err
	}
	var ingest *os.File
	if w.Ingest != nil {
		ingest = w.Ingest.Dir()
	}
	entries, err := w.Supervisor.Clean(w.Dir.Work, keep, ingest)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		lost = append(lost, fmt.Sprintf("not kept: %s (%s)", outputs.Escape(entry.Path), entry.Rejected))
	}
	return lost, nil
}

// revive starts another supervisor if that of the run is dead.
func (w *Workspace) revive(ctx context.Context) error {
	if w.Supervisor != nil && w.Supervisor.Alive() {
		return nil
	}
	supervisor, err := warm.Launch(ctx, w.Account)
	if err == nil {
		w.Supervisor = supervisor
	}
	return err
}

// WorkGone reports whether a /work in memory is lost, as it is with its supervisor.
func (w *Workspace) WorkGone() bool { return w.Supervisor == nil || !w.Supervisor.Alive() }

// CloseIngest removes the ingest directory of a committed run, before others may wait for its lock.
func (w *Workspace) CloseIngest() error {
	if w.Ingest == nil {
		return nil
	}
	err := w.Ingest.Close()
	w.Ingest = nil
	return err
}

// LeaveIngest leaves the ingest directory as it is: its content cannot be made again.
func (w *Workspace) LeaveIngest() {
	if w.Ingest != nil {
		w.Ingest.Leave()
		w.Ingest = nil
	}
}

// Left says what of the run could not be removed, and where it is.
func (w *Workspace) Left() string {
	if IsInode(w.Location.Dir, w.Location) {
		return fmt.Sprintf("the working directory %q could not be removed", w.Location.Dir)
	}
	return "not everything of the run could be removed"
}
