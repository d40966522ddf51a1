package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/spec"
)

// checkControlGroups finds the parent group of runs as a run does (cgroup.Find, cgroup.Scope), makes a group there with
// the limits of runs, reads them back, and removes it.
func (e *examination) checkControlGroups(ctx context.Context) {
	g, err := findGroups(ctx, cgroup.System{Root: e.account.Root()})
	defer g.close()
	if err != nil {
		e.withoutGroups(err)
		return
	}
	e.report.Summary.Limits = g.by
	e.add(Finding{Code: CodeParentGroup, Status: OK, Seen: g.seen, Means: "the kernel holds all processes of a run together to its limits"})
	for _, prefix := range groupCodes {
		if prefix == g.codes {
			got, err := e.makeGroup(g.parent)
			e.controllers(prefix, g.parent, got, err)
			continue
		}
		for _, controller := range controllers {
			e.needless(prefix+controller, "another way to hold limits is used here")
		}
	}
}

// groups is where control groups of runs can be made.
type groups struct {
	parent *cgroup.Parent
	by     LimitsBy
	codes  string // prefix of the codes of its controllers
	seen   string
	idle   *probe.Child // the process in a scope of systemd's
}

// close ends the scope, which ends with its last process.
func (g groups) close() {
	if g.idle != nil {
		g.idle.Close()
	}
}

func findGroups(ctx context.Context, sys cgroup.System) (groups, error) {
	parent, err := cgroup.Find(ctx, sys)
	var missing *cgroup.MissingError
	switch {
	case err == nil && parent.Version == 1:
		return groups{parent: parent, by: LimitsByV1, codes: groupsV1, seen: "cgroup v1, as root"}, nil
	case err == nil:
		return groups{parent: parent, by: LimitsByDelegated, codes: groupsDelegated, seen: "cgroup v2, a subtree that is delegated to this process"}, nil
	case !errors.As(err, &missing) || !missing.Unified:
		return groups{}, err
	}
	g := groups{by: LimitsBySystemd, codes: groupsSystemd, seen: "cgroup v2, a scope that systemd gives for the asking"}
	if g.idle, err = probe.StartIdle(ctx); err != nil {
		return g, err
	}
	g.parent, err = cgroup.Scope(ctx, sys, missing, g.idle.PID())
	return g, err
}

// withoutGroups says why runs have no control groups, and what they get instead.
func (e *examination) withoutGroups(err error) {
	f, remedy := Finding{Code: CodeParentGroup, Seen: err.Error()}, bestEffort
	var missing *cgroup.MissingError
	if errors.As(err, &missing) {
		f.Seen, remedy = missing.Reason, remedies.Remedy{Sentence: missing.Remedy, Command: command(missing.Remedy, bestEffort.Command)}
	}
	if e.held != (cgroup.Limits{}) && e.around.limits != "" {
		remedy = e.around.outer()
	}
	f = f.as(Fail, "runs are refused: nothing can enforce their limits", remedy)
	if limits := e.analysis.Limits; limits != spec.LimitsEnforce {
		f.Status, f.Means = Warn, "the limits of runs are held as limits: "+limits+" says, which is set"
		if strings.Contains(f.Command, "limits ") { // what is set already, or another way around it
			f.Cure, f.Command = "nothing, where that is enough; this has them enforced again, or runs refused", "scidex-oci config unset limits"
		}
		e.report.Summary.Limits = LimitsBy(limits)
	}
	e.add(f)
	for _, prefix := range groupCodes {
		for _, controller := range controllers {
			e.skip(prefix+controller, CodeParentGroup)
		}
	}
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

// limits returns those of a run with these flags.
func (e *examination) limits(parent *cgroup.Parent) cgroup.Limits {
	a := e.analysis
	limits := cgroup.Limits{Memory: int64(a.Memory), CPUs: a.CPUs, Pids: a.Pids}
	if !parent.CPU {
		limits.CPUs = 0
	}
	return limits
}

func (e *examination) makeGroup(parent *cgroup.Parent) (cgroup.Effective, error) {
	group, got, err := parent.New(probe.RandomName(namePrefix), e.limits(parent))
	if err != nil {
		return got, err
	}
	return got, group.Remove()
}

// controllers adds a finding for each controller.
func (e *examination) controllers(prefix string, parent *cgroup.Parent, got cgroup.Effective, err error) {
	blamed := controllerOf(err)
	for _, controller := range controllers {
		f := Finding{Code: prefix + controller, Status: OK, Means: "the limit holds for all processes of a run together"}
		f.Seen = "set and read back: " + map[string]string{
			"memory": format.Size(got.Memory), "pids": fmt.Sprintf("%d processes", got.Pids), "cpu": fmt.Sprintf("%g CPUs", got.CPUs),
		}[controller]
		switch {
		case err != nil && blamed != "" && blamed != controller:
			e.skip(f.Code, prefix+blamed)
			continue
		case err != nil:
			f.Seen = err.Error()
			f = f.as(Fail, "runs end with an error: a limit is not what was asked for", bestEffort)
		case controller == "cpu" && !parent.CPU:
			f = withoutCPU(f, parent)
		}
		e.add(f)
	}
}

// withoutCPU is the finding for a missing cpu controller: runs without a CPU limit start.
func withoutCPU(f Finding, parent *cgroup.Parent) Finding {
	grant := parent.GrantCPU()
	f.Seen = "the cpu controller is not delegated"
	return f.as(Warn, "nothing holds a run to its CPUs, and --cpus is refused",
		remedies.Remedy{Sentence: grant, Command: command(grant, "systemd-run --scope -p Delegate=yes scidex-oci run COMMAND")})
}

// controllerOf returns the controller whose file an error is about, or "".
func controllerOf(err error) string {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return ""
	}
	name, _, _ := strings.Cut(filepath.Base(path.Path), ".")
	for _, controller := range controllers {
		if name == controller {
			return controller
		}
	}
	return ""
}
