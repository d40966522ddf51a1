// Package rundir removes, and hands to the user, the directories that runs left on this host.
package rundir

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

// Access reaches a run's directory whatever ids its files have: root directly, a user through a supervisor, which is started
// on first use.
type Access struct {
	Account    idmap.Account
	supervisor sandbox.Supervisor
}

// For returns the access of an account.
func For(account idmap.Account) *Access { return &Access{Account: account} }

// Remove removes the recorded directory of a location at path.
func (a *Access) Remove(ctx context.Context, path string, location workspace.Location) error {
	dir, err := workspace.OpenInode(path, location)
	if err != nil {
		return err
	}
	defer dir.Close()
	if a.Account.Root() {
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

// Own makes a run's directory and its contents the user's; root needs no supervisor for that.
func (a *Access) Own(ctx context.Context, location workspace.Location) error {
	if a.Account.Root() {
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
func (a *Access) clean(ctx context.Context, dir *os.File, keep bool) error {
	supervisor, err := a.Supervisor(ctx)
	if err != nil {
		return err
	}
	_, err = supervisor.Clean(dir, keep, nil)
	return err
}

// Supervisor returns the supervisor, started on first use.
func (a *Access) Supervisor(ctx context.Context) (sandbox.Supervisor, error) {
	if a.supervisor != nil {
		return a.supervisor, nil
	}
	supervisor, err := warm.Launch(ctx, a.Account)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = supervisor.Close() }) // the wait is over
	a.supervisor = supervisor
	return supervisor, nil
}

// Close ends the supervisor.
func (a *Access) Close() {
	if a.supervisor != nil {
		_ = a.supervisor.Close() // it has nothing left to do
	}
}
