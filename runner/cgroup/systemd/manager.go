// Package systemd asks the systemd that manages the caller over D-Bus, and reads which groups are its units'.
package systemd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Manager is the systemd instance that manages a user's units: the system's for root, the user's for others
// (https://www.freedesktop.org/wiki/Software/systemd/dbus).
type Manager struct{ UID int }

func (m Manager) String() string {
	if m.UID == 0 {
		return "systemd"
	}
	return "systemd's user manager"
}

// Timeout is the timeout of one request: far more than a busy host needs.
const Timeout = 30 * time.Second

// ErrNotRunning is the error if nothing listens. It continues the manager's name.
var ErrNotRunning = errors.New("is not running")

// ErrElsewhere is the error of a manager that does not share our process ids: that of the host around a container.
var ErrElsewhere = errors.New("it is in another PID namespace")

// sockets lists them in the order to try. DBUS_SESSION_BUS_ADDRESS is ignored: it may name any bus, or start one.
func (m Manager) sockets() []socket {
	if m.UID == 0 {
		return []socket{{"/run/systemd/private", false}, {"/run/dbus/system_bus_socket", true}}
	}
	dirs := []string{fmt.Sprintf("/run/user/%d", m.UID)}
	if dir := os.Getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) && filepath.Clean(dir) != dirs[0] {
		dirs = slices.Insert(dirs, 0, dir)
	}
	var all []socket
	for _, dir := range dirs {
		all = append(all, socket{dir + "/bus", true}, socket{dir + "/systemd/private", false})
	}
	return all
}

// delegates reports whether the manager delegates a unit's group (Delegate=).
func (m Manager) delegates(ctx context.Context, unit string) bool {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	kind := map[string]string{".scope": "Scope", ".service": "Service"}[filepath.Ext(unit)]
	if kind == "" {
		return false
	}
	conn, err := connect(ctx, m.sockets())
	if err != nil {
		return false
	}
	defer conn.Close()
	property, err := conn.GetUnitTypePropertyContext(ctx, unit, kind, "Delegate")
	if err != nil {
		return false
	}
	yes, ok := property.Value.Value().(bool)
	return ok && yes
}

// Booted is sd_booted(3).
func Booted() bool {
	_, err := os.Stat("/run/systemd/system")
	return err == nil
}
