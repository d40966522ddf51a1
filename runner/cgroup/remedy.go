package cgroup

import (
	"errors"
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/cgroup/systemd"
)

// MissingError says why no group can be made and which command helps.
type MissingError struct {
	Reason, Remedy string
	// Unified says that this is cgroup v2, where systemd can make a group (Scope).
	Unified bool
}

func (e *MissingError) Error() string { return e.Reason + "; " + e.Remedy }

// lackingError is a group without all required controllers.
type lackingError struct {
	dir     string
	missing []string
}

func (e *lackingError) Error() string {
	return fmt.Sprintf("control group %s does not have the %s controller", e.dir, strings.Join(e.missing, " and "))
}

const (
	bestEffort = "type `scidex-oci config set limits best-effort` (for one run: `--limits best-effort`) to have rlimits and the clock hold what they can"
	outer      = "run with `--limits outer` (what the control groups around it hold)"

	orBestEffort = ", or " + bestEffort + ", or " + outer
	// remedyRoot helps a user without control groups.
	remedyRoot = bestEffort + ", or run as root"
	// remedyContainer helps without systemd.
	remedyContainer = "start the container that this is in with writable control groups" + orBestEffort
)

// mountV1 says how to mount a cgroup v1 controller; Find finds it anywhere.
func mountV1(controller string) string {
	return fmt.Sprintf("let root run `mkdir -p /sys/fs/cgroup/%[1]s && mount -t cgroup -o %[1]s cgroup /sys/fs/cgroup/%[1]s`", controller)
}

// remedyFor is what helps a user whose manager failed with err.
func remedyFor(m systemd.Manager, err error) string {
	var lacking *lackingError
	switch {
	case errors.As(err, &lacking) && m.UID != 0:
		return delegateAll(m.UID) + orBestEffort
	case errors.Is(err, systemd.ErrNotRunning) && m.UID != 0 && systemd.Booted():
		return fmt.Sprintf("let root run `loginctl enable-linger %d`", m.UID) + orBestEffort
	case errors.Is(err, systemd.ErrNotRunning) && m.UID != 0:
		return remedyRoot
	case errors.Is(err, systemd.ErrNotRunning), errors.Is(err, systemd.ErrElsewhere):
		return remedyContainer
	case m.UID != 0:
		return fmt.Sprintf("start it as `XDG_RUNTIME_DIR=/run/user/%d systemd-run --user --scope -p Delegate=yes scidex-oci run ...`", m.UID) + orBestEffort
	default:
		return "start it as `systemd-run --scope -p Delegate=yes scidex-oci run ...`" + orBestEffort
	}
}

// delegateAll delegates all controllers to user managers. A running one notices only on daemon-reexec, which ends nothing
// (seen with systemd 252).
func delegateAll(uid int) string {
	return "let root run `mkdir -p /etc/systemd/system/user@.service.d" +
		` && printf '[Service]\nDelegate=cpu cpuset io memory pids\n' >/etc/systemd/system/user@.service.d/delegate.conf` +
		" && systemctl daemon-reload` and then run " +
		fmt.Sprintf("`XDG_RUNTIME_DIR=/run/user/%d systemctl --user daemon-reexec`", uid)
}
