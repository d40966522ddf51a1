package recovery

import (
	"context"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// access reaches a run's directory whatever ids its files have: root directly, a user through a supervisor, which is started
// on first use.
type access struct {
	account    idmap.Account
	supervisor sandbox.Supervisor
}

// remove removes the recorded directory of a location at path.
func (a *access) remove(ctx context.Context, path string, location workspace.Location) error {
	dir, err := workspace.OpenInode(path, location)
	if err != nil {
		return err
	}
	defer dir.Close()
	if a.account.Root() {
		err = outputs.Empty(ctx, dir)
	} else {
		err = a.clean(ctx, dir, false)
	}
	if err != nil {
		return fmt.Errorf("remove %q: %w", path, err)
	}
	if err := unix.Rmdir(path); err != nil {
		return &fs.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// own makes a run's directory and its contents the user's; root needs no supervisor for that.
func (a *access) own(ctx context.Context, location workspace.Location) error {
	if a.account.Root() {
		return nil
	}
	dir, err := workspace.OpenInode(location.Dir, location)
	if err != nil {
		return err
	}
	defer dir.Close()
	return a.clean(ctx, dir, true)
}

// clean empties a directory through the supervisor, or makes its contents the user's.
func (a *access) clean(ctx context.Context, dir *os.File, keep bool) error {
	supervisor, err := a.launch(ctx)
	if err != nil {
		return err
	}
	_, err = supervisor.Clean(dir, keep, nil)
	return err
}

// launch returns the supervisor, started on first use.
func (a *access) launch(ctx context.Context) (sandbox.Supervisor, error) {
	if a.supervisor != nil {
		return a.supervisor, nil
	}
	supervisor, err := warm.Launch(ctx, a.account)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = supervisor.Close() }) // the wait is over
	a.supervisor = supervisor
	return supervisor, nil
}

// close ends the supervisor.
func (a *access) close() {
	if a.supervisor != nil {
		_ = a.supervisor.Close() // it has nothing left to do
	}
}
