package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Prefixes of the codes of control groups, one for each way to get them. A controller follows.
const (
	groupsV1        = "cgroup.v1."
	groupsDelegated = "cgroup.v2.delegated."
	groupsSystemd   = "cgroup.v2.systemd."
)

// groups is where control groups of runs can be made, and what came of one.
type groups struct {
	parent *cgroup.Parent // nil if there are none
	codes  string         // prefix of the codes of its controllers
	got    cgroup.Limits
	err    error
}

// parentGroup finds the parent group of runs as a run does (cgroup.Find, cgroup.Scope), makes a group there with the limits
// of runs, reads them back, and removes it.
func (e *examination) parentGroup(ctx context.Context) (f check.Finding) {
	sys := cgroup.System{Root: e.Account.Root()}
	parent, err := cgroup.Find(ctx, sys)
	var missing *cgroup.MissingError
	switch {
	case err == nil && parent.Version == 1:
		e.summary.Limits, e.groups.codes, f.Seen = LimitsByV1, groupsV1, "cgroup v1, as root"
	case err == nil:
		e.summary.Limits, e.groups.codes, f.Seen = LimitsByDelegated, groupsDelegated, "cgroup v2, a subtree that is delegated to this process"
	case !errors.As(err, &missing) || !missing.Unified:
		return e.withoutGroups(err)
	default:
		idle, err := check.StartIdle(&syscall.SysProcAttr{Setsid: true})
		if err != nil {
			return e.withoutGroups(err)
		}
		defer func() { // the scope ends with its last process
			_ = idle.Process.Kill()
			_ = idle.Wait()
		}()
		if parent, err = cgroup.Scope(ctx, sys, missing, idle.Process.Pid); err != nil {
			return e.withoutGroups(err)
		}
		e.summary.Limits, e.groups.codes, f.Seen = LimitsBySystemd, groupsSystemd, "cgroup v2, a scope that systemd gives for the asking"
	}
	e.groups.parent = parent
	limits := cgroup.Limits{Memory: int64(e.analysis.Memory), CPUs: e.analysis.CPUs, Pids: e.analysis.Pids}
	if !parent.CPU {
		limits.CPUs = 0
	}
	var group *cgroup.Group
	if group, e.groups.got, e.groups.err = parent.New(check.RandomName(namePrefix), limits); e.groups.err == nil {
		e.groups.err = group.Remove()
	}
	return f
}

// withoutGroups says why runs have no control groups, and what they get instead.
func (e *examination) withoutGroups(err error) check.Finding {
	f, remedy := check.Finding{Seen: err.Error()}, bestEffort
	var missing *cgroup.MissingError
	if errors.As(err, &missing) {
		f.Seen, remedy = missing.Reason, remedies.Remedy{Sentence: missing.Remedy, Command: command(missing.Remedy, bestEffort.Command)}
	}
	if e.held != (cgroup.Limits{}) && e.around.limits != "" {
		remedy = e.around.outer()
	}
	f = f.As(check.Fail, "runs are refused: nothing can enforce their limits", remedy)
	if limits := e.analysis.Limits; limits != spec.LimitsEnforce {
		f.Status, f.Means = check.Warn, "the limits of runs are held as limits: "+limits+" says, which is set"
		if strings.Contains(f.Command, "limits ") { // what is set already, or another way around it
			f.Cure, f.Command = "nothing, if that is enough; this has them enforced again, or runs refused", "scidex-oci config unset limits"
		}
		e.summary.Limits = LimitsBy(limits)
	}
	return f
}

// controller is the check of one controller, of whose limit parentGroup has seen what came.
func (e *examination) controller(prefix, controller string) check.Check {
	return check.Check{Name: prefix + controller, Works: "the limit holds for all processes of a run together", Do: func(context.Context) check.Finding {
		g := e.groups
		blamed := controllerOf(g.err)
		switch {
		case g.parent == nil:
			return check.SkippedAfter(codeParentGroup)
		case g.codes != prefix:
			return check.NotNeeded("another way to hold limits is used here")
		case g.err != nil && blamed != "" && blamed != controller:
			return check.SkippedAfter(prefix + blamed)
		case g.err != nil:
			return check.Finding{Seen: g.err.Error()}.As(check.Fail, "runs end with an error: a limit is not what was asked for", bestEffort)
		case controller == "cpu" && !g.parent.CPU: // runs without a CPU limit start
			grant := g.parent.GrantCPU()
			return check.Finding{Seen: "the cpu controller is not delegated"}.As(check.Warn, "nothing holds a run to its CPUs, and --cpus is refused",
				remedies.Remedy{Sentence: grant, Command: command(grant, "systemd-run --scope -p Delegate=yes scidex-oci run COMMAND")})
		}
		return check.Finding{Seen: "set and read back: " + map[string]string{
			"memory": format.Size(g.got.Memory), "pids": fmt.Sprintf("%d processes", g.got.Pids), "cpu": fmt.Sprintf("%g CPUs", g.got.CPUs),
		}[controller]}
	}}
}

// controllerOf returns the controller whose file an error is about, or "".
func controllerOf(err error) string {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return ""
	}
	name, _, _ := strings.Cut(filepath.Base(path.Path), ".")
	if slices.Contains([]string{"memory", "pids", "cpu"}, name) {
		return name
	}
	return ""
}

// quoted matches a command in a sentence.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })

// command returns the first command that a remedy names, or fallback.
func command(remedy, fallback string) string {
	found := quoted().FindStringSubmatch(remedy)
	switch {
	case found == nil:
		return fallback
	case strings.HasPrefix(found[1], "--"):
		return "scidex-oci run " + found[1] + " COMMAND"
	}
	return found[1]
}

// bestEffort is to run without control groups.
var bestEffort = remedies.Remedy{
	Sentence: "let rlimits and the clock hold what they can, for one run with --limits best-effort, or for all", Command: "scidex-oci config set limits best-effort",
}
