package workspace

import (
	"context"
	"path/filepath"
)

// Make makes the working and the ingest directory, and records each as soon as it is there.
func (w *Workspace) Make(ctx context.Context) error {
	if err := w.makeDir(ctx); err != nil {
		return err
	}
	return w.makeIngest()
}

func (w *Workspace) makeDir(ctx context.Context) (err error) {
	if err := SetAside(ctx, w.Host, w.Run.Key); err != nil {
		return err
	}
	if w.Dir, err = MakeWorkdir(w.Location.Dir, w.Account.HostUID(0), w.Account.HostGID(0)); err != nil {
		return err
	}
	w.Location.Dev, w.Location.Ino = w.Dir.Dev, w.Dir.Ino
	return w.State.Record(w.Location)
}

func (w *Workspace) makeIngest() (err error) {
	if w.Ingest, err = w.Host.Blobs.NewIngest(w.Run.ID); err != nil {
		return err
	}
	for _, name := range LogNames {
		w.Location.Logs = append(w.Location.Logs, filepath.Join(w.Ingest.Dir().Name(), name))
	}
	if err := w.State.Record(w.Location); err != nil || !w.Account.Root() {
		return err
	}
	return w.Ingest.Chown(w.Account.HostUID(0), w.Account.HostGID(0))
}
