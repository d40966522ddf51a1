package idmap

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// WriteMaps writes the id maps of the outer user namespace, which process pid is in: directly if the caller may, or
// with newuidmap(1) and newgidmap(1) for a range that only they may map. Root there is the caller, or the first id of
// root's range.
func (a Account) WriteMaps(ctx context.Context, pid int) error {
	switch {
	case a.Root() && a.HasRange():
		return writeMaps(pid, a.UIDs, a.GIDs, "allow")
	case a.HasRange():
		return a.delegateMaps(ctx, pid)
	default:
		return writeMaps(pid, Range{a.UID, 1}, Range{a.GID, 1}, "deny")
	}
}

// writeMaps maps the ids from 0 on. setgroups must be written before the groups: user_namespaces(7).
func writeMaps(pid int, uids, gids Range, setgroups string) error {
	for _, file := range [][2]string{
		{"uid_map", fmt.Sprintf("0 %d %d", uids.Start, uids.Count)},
		{"setgroups", setgroups},
		{"gid_map", fmt.Sprintf("0 %d %d", gids.Start, gids.Count)},
	} {
		if err := os.WriteFile(fmt.Sprintf("/proc/%d/%s", pid, file[0]), []byte(file[1]), 0); err != nil {
			return remedies.LaunchError(err)
		}
	}
	return nil
}

// delegateMaps maps the caller to root, followed by its range.
func (a Account) delegateMaps(ctx context.Context, pid int) error {
	errs := make(chan error, 2)
	run := func(lane trace.Lane, tool string, own int, ids Range) {
		defer trace.From(ctx).Span(lane, tool)()
		path, err := findTool(tool)
		if err != nil {
			errs <- err
			return
		}
		cmd := exec.CommandContext(ctx, path, strconv.Itoa(pid),
			"0", strconv.Itoa(own), "1",
			"1", strconv.Itoa(ids.Start), strconv.Itoa(ids.Count))
		cmd.WaitDelay = 100 * time.Millisecond // for its children, which share its output
		out, err := cmd.CombinedOutput()
		if errors.Is(err, exec.ErrWaitDelay) {
			err = nil // it succeeded; other processes hold its output, such as a supervisor that waits meanwhile
		}
		switch {
		case ctx.Err() != nil:
			err = fmt.Errorf("%s: %w", tool, context.Cause(ctx))
		case err != nil:
			err = fmt.Errorf("%s: %w: %s (is the range in /etc/subuid and /etc/subgid right?)",
				tool, err, strings.TrimSpace(string(out)))
		}
		errs <- err
	}
	go run(trace.UserIDs, "newuidmap", a.UID, a.UIDs)
	go run(trace.GroupIDs, "newgidmap", a.GID, a.GIDs)
	return errors.Join(<-errs, <-errs)
}

// MapDirectly sets attr to write the id maps of the outer user namespace when the process starts, if the caller may write
// them itself. If not, it returns false: then WriteMaps writes them while the process waits.
func (a Account) MapDirectly(attr *syscall.SysProcAttr) bool {
	switch {
	case a.Root() && a.HasRange():
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: a.UIDs.Start, Size: a.UIDs.Count}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: a.GIDs.Start, Size: a.GIDs.Count}}
		attr.GidMappingsEnableSetgroups = true
		attr.Credential = &syscall.Credential{}
		return true
	case a.HasRange():
		return false
	default:
		a.MapSelf(attr)
		return true
	}
}

// MapSelf sets the maps that anyone may write: the caller is root of the outer namespace, and its only id.
func (a Account) MapSelf(attr *syscall.SysProcAttr) {
	attr.UidMappings = []syscall.SysProcIDMap{{HostID: a.UID, Size: 1}}
	attr.GidMappings = []syscall.SysProcIDMap{{HostID: a.GID, Size: 1}}
}

// HostUID translates a uid of the outer namespace to the host's.
func (a Account) HostUID(outer int) int {
	switch {
	case a.Root() && a.HasRange():
		return a.UIDs.Start + outer
	case outer == 0:
		return a.UID
	default:
		return a.UIDs.Start + outer - 1
	}
}

// HostGID translates a gid of the outer namespace to the host's.
func (a Account) HostGID(outer int) int {
	switch {
	case a.Root() && a.HasRange():
		return a.GIDs.Start + outer
	case outer == 0:
		return a.GID
	default:
		return a.GIDs.Start + outer - 1
	}
}
