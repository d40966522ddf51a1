package cgroup

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
)

// Scope asks systemd for a delegated scope around the process supervisor, and returns it as the parent of groups. It is
// for a caller to whom Find returned missing. The caller stays in its own unit, and moves processes within the scope. The
// scope ends with its last process (docs/adr/0004). The error is a *MissingError.
func Scope(ctx context.Context, sys System, missing *MissingError, supervisor int) (*Parent, error) {
	ctx, cancel := context.WithTimeout(ctx, systemd.Timeout)
	defer cancel()
	m := systemd.Manager{UID: os.Geteuid()}
	parent, err := makeScope(ctx, m, sys.withDefaults(), supervisor)
	if err == nil {
		return parent, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("did not answer within %v", systemd.Timeout)
	}
	why := strings.TrimRight(err.Error(), ".") // systemd's messages end with one
	return nil, &MissingError{Reason: fmt.Sprintf("%s, and %v %s", missing.Reason, m, why), Remedy: remedyFor(m, err)}
}

// makeScope makes the scope and delegates its controllers. Its errors continue the manager's name.
func makeScope(ctx context.Context, m systemd.Manager, sys System, supervisor int) (*Parent, error) {
	mounts, err := cgroupfs.ReadMounts(sys.Proc)
	if err != nil {
		return nil, err
	}
	own, err := cgroupfs.GroupsOf(sys.Proc, "self")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("scidex-oci-%d-%s.scope", supervisor, strings.ToLower(rand.Text()[:8]))
	if err := m.StartScope(ctx, name, own[""], supervisor); err != nil {
		return nil, err
	}
	theirs, err := cgroupfs.GroupsOf(sys.Proc, strconv.Itoa(supervisor))
	if err != nil {
		return nil, fmt.Errorf("has lost the supervisor: %w", err)
	}
	dir := mounts[""].Dir(theirs[""])
	if filepath.Base(dir) != name {
		return nil, fmt.Errorf("made %s, but the supervisor is in %s", name, theirs[""])
	}
	parent, err := handOver(dir, true)
	if err != nil {
		return nil, fmt.Errorf("made a scope, but %w", err)
	}
	parent.own, parent.mover = filepath.Join(dir, leafName), supervisor
	return parent, nil
}
