package cgroup

import (
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/cgroupfs"
)

// Scope asks systemd for a delegated scope around the process supervisor, and returns it as the parent of groups. It is
// for a caller to whom Find returned missing. The caller stays in its own unit, and moves processes within the scope. The
// scope ends with its last process (docs/adr/0008). The error is a *MissingError.
func Scope(ctx context.Context, sys System, missing *MissingError, supervisor int) (*Parent, error) {
	ctx, cancel := context.WithTimeout(ctx, managerWait)
	defer cancel()
	m := manager{os.Geteuid()}
	parent, err := m.scope(ctx, sys.withDefaults(), supervisor)
	if err == nil {
		return parent, nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("did not answer within %v", managerWait)
	}
	why := strings.TrimRight(err.Error(), ".") // systemd's messages end with one
	return nil, &MissingError{Reason: fmt.Sprintf("%s, and %v %s", missing.Reason, m, why), Remedy: m.remedy(err)}
}

// scope makes the scope and delegates its controllers. Its errors continue the manager's name.
func (m manager) scope(ctx context.Context, sys System, supervisor int) (*Parent, error) {
	mounts, err := cgroupfs.ReadMounts(sys.Proc)
	if err != nil {
		return nil, err
	}
	own, err := cgroupfs.GroupsOf(sys.Proc, "self")
	if err != nil {
		return nil, err
	}
	name := fmt.Sprintf("scidex-oci-%d-%s.scope", supervisor, strings.ToLower(rand.Text()[:8]))
	if err := m.startScope(ctx, name, scopeProperties(m.sliceFor(own[""]), supervisor)); err != nil {
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

// startScope waits for the manager's job. A scope made after the wait ends with the supervisor.
func (m manager) startScope(ctx context.Context, name string, properties []systemd.Property) error {
	conn, err := connect(ctx, m.sockets())
	if err != nil {
		return err
	}
	defer conn.Close()
	ended := make(chan string, 1)
	if _, err := conn.StartTransientUnitContext(ctx, name, "fail", properties, ended); err != nil {
		return fmt.Errorf("refused a scope: %w", err)
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-ended:
		if result != "done" {
			return fmt.Errorf("made no scope: the job's result is %q", result)
		}
		return nil
	}
}

// scopeProperties are from systemd.scope(5) and systemd.resource-control(5). The runs' limits are in their own groups;
// systemd's default task limit would interfere.
func scopeProperties(slice string, supervisor int) []systemd.Property {
	return []systemd.Property{
		systemd.PropDescription(fmt.Sprintf("scidex-oci: analyses started by process %d", os.Getpid())),
		systemd.PropSlice(slice),
		systemd.PropPids(uint32(supervisor)),
		{Name: "Delegate", Value: dbus.MakeVariant(true)},
		{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
		{Name: "TasksMax", Value: dbus.MakeVariant(uint64(math.MaxUint64))},
	}
}

// sliceFor is the slice of the caller's unit, so that its limits apply to the analyses too; if the manager does not
// manage it, as for a login session of a user, the default slice.
func (m manager) sliceFor(group string) string {
	usual := "app.slice"
	if m.uid == 0 {
		usual = "system.slice"
		group, _, _ = strings.Cut(group, "/user@") // the rest is a manager's
	} else {
		_, group, _ = strings.Cut(group, fmt.Sprintf("/user@%d.service/", m.uid))
	}
	for ; group != "" && group != "/" && group != "."; group = path.Dir(group) {
		if path.Ext(group) == ".slice" {
			return path.Base(group)
		}
	}
	return usual
}
