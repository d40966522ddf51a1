package systemd

import (
	"context"
	"fmt"
	"math"
	"os"
	"path"
	"strings"

	units "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// StartScope makes a delegated scope around a process, in the slice of group, the caller's, and waits for the manager's
// job. A scope made after the wait ends with the process. The errors continue the manager's name.
func (m Manager) StartScope(ctx context.Context, name, group string, process int) error {
	conn, err := connect(ctx, m.sockets())
	if err != nil {
		return err
	}
	defer conn.Close()
	properties := scopeProperties(m.sliceFor(group), process)
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
func scopeProperties(slice string, process int) []units.Property {
	return []units.Property{
		units.PropDescription(fmt.Sprintf("scidex-oci: analyses started by process %d", os.Getpid())),
		units.PropSlice(slice),
		units.PropPids(uint32(process)),
		{Name: "Delegate", Value: dbus.MakeVariant(true)},
		{Name: "CollectMode", Value: dbus.MakeVariant("inactive-or-failed")},
		{Name: "TasksMax", Value: dbus.MakeVariant(uint64(math.MaxUint64))},
	}
}

// sliceFor is the slice of the caller's unit, so that its limits apply to the analyses too; if the manager does not
// manage it, as for a login session of a user, the default slice.
func (m Manager) sliceFor(group string) string {
	usual := "app.slice"
	if m.UID == 0 {
		usual = "system.slice"
		group, _, _ = strings.Cut(group, "/user@") // the rest is a manager's
	} else {
		_, group, _ = strings.Cut(group, fmt.Sprintf("/user@%d.service/", m.UID))
	}
	for ; group != "" && group != "/" && group != "."; group = path.Dir(group) {
		if path.Ext(group) == ".slice" {
			return path.Base(group)
		}
	}
	return usual
}
