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
	"syscall"

	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/spec"
)

// groups finds where control groups of runs can be made, as a run does (cgroup.Find, cgroup.Scope), makes one
// there with the limits of runs, has them read back, and removes it.
func (e *examination) groups(ctx context.Context) {
	place, road, err := e.place(ctx)
	defer place.end()
	if err != nil {
		e.placeless(err)
		return
	}
	e.report.Summary.Limits = place.road
	e.add(Finding{Code: CodePlace, Status: OK, Seen: place.seen, Means: "the kernel holds all processes of a run together to its limits"})
	for _, other := range roads {
		if other != road {
			e.otherRoad(other, "this host takes another road")
			continue
		}
		got, err := e.makeGroup(place.parent)
		e.controllers(road, place.parent, got, err)
	}
}

// place is where groups can be made.
type place struct {
	parent *cgroup.Parent
	road   Rung
	seen   string
	keeper *child // the process that a scope is around
}

// end ends the scope: it ends with its last process.
func (p place) end() {
	if p.keeper != nil {
		p.keeper.end()
	}
}

func (e *examination) place(ctx context.Context) (p place, road string, err error) {
	sys := cgroup.System{Root: e.account.Root()}
	p.parent, err = cgroup.Find(ctx, sys)
	var missing *cgroup.MissingError
	switch {
	case err == nil && p.parent.Version == 1:
		p.road, p.seen = RungV1, "cgroup v1, as root"
		return p, roadV1, nil
	case err == nil:
		p.road, p.seen = RungDelegated, "cgroup v2, a subtree that is delegated to this process"
		return p, roadDelegated, nil
	case !errors.As(err, &missing) || !missing.Unified:
		return p, "", err
	}
	if p.keeper, err = start(ctx, &syscall.SysProcAttr{}, idleName); err != nil {
		return p, "", err
	}
	p.parent, err = cgroup.Scope(ctx, sys, missing, p.keeper.cmd.Process.Pid)
	p.road, p.seen = RungSystemd, "cgroup v2, a scope that systemd gives for the asking"
	return p, roadSystemd, err
}

// placeless says why runs have no control groups, and what they get instead.
func (e *examination) placeless(err error) {
	f := Finding{Code: CodePlace, Status: Fail, Seen: err.Error(), Means: "runs are refused: nobody could hold them to their limits"}
	var missing *cgroup.MissingError
	f.Cure, f.Command = "hold the limits by rlimits and the clock", bestEffort
	if errors.As(err, &missing) {
		f.Seen, f.Cure, f.Command = missing.Reason, missing.Remedy, command(missing.Remedy, bestEffort)
	}
	if e.around.limits != "" {
		remedy := e.around.outer()
		f.Cure, f.Command = remedy.Sentence, remedy.Command
	}
	if limits := e.analysis.Limits; limits != spec.LimitsEnforce {
		f.Status, f.Means = Warn, "the limits of runs are held as --limits "+limits+" says"
		e.report.Summary.Limits = Rung(limits)
	}
	e.add(f)
	for _, road := range roads {
		for _, controller := range controllers {
			e.skip(road+controller, CodePlace)
		}
	}
}

// quoted is a command in a sentence.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("`([^`]+)`") })

// command is the first that a remedy names, or otherwise.
func command(remedy, otherwise string) string {
	found := quoted().FindStringSubmatch(remedy)
	switch {
	case found == nil:
		return otherwise
	case strings.HasPrefix(found[1], "--"):
		return "scidex-oci run " + found[1] + " COMMAND"
	}
	return found[1]
}

// bestEffort does without control groups.
const bestEffort = "scidex-oci run --limits best-effort COMMAND"

func (e *examination) otherRoad(road, why string) {
	for _, controller := range controllers {
		e.needless(road+controller, why)
	}
}

// limits are those of a run with these flags.
func (e *examination) limits(parent *cgroup.Parent) cgroup.Limits {
	a := e.analysis
	limits := cgroup.Limits{Memory: int64(a.Memory), CPUs: a.CPUs, Pids: a.Pids}
	if !parent.CPU {
		limits.CPUs = 0
	}
	return limits
}

func (e *examination) makeGroup(parent *cgroup.Parent) (cgroup.Effective, error) {
	group, got, err := parent.New(newName(), e.limits(parent))
	if err != nil {
		return got, err
	}
	return got, group.Remove()
}

// controllers tells each controller by itself.
func (e *examination) controllers(road string, parent *cgroup.Parent, got cgroup.Effective, err error) {
	blamed := controllerOf(err)
	for _, controller := range controllers {
		f := Finding{Code: road + controller, Status: OK, Means: "the limit holds for all processes of a run together"}
		f.Seen = "set and read back: " + map[string]string{
			"memory": fmt.Sprintf("%d bytes", got.Memory), "pids": fmt.Sprintf("%d processes", got.Pids), "cpu": fmt.Sprintf("%g CPUs", got.CPUs),
		}[controller]
		switch {
		case err != nil && blamed != "" && blamed != controller:
			e.skip(f.Code, road+blamed)
			continue
		case err != nil:
			f.Status, f.Seen, f.Means = Fail, err.Error(), "runs end with an error: a limit is not what was asked for"
			f.Cure, f.Command = "hold the limits by rlimits and the clock", bestEffort
		case controller == "cpu" && !parent.CPU:
			f = e.withoutCPU(f, parent)
		}
		e.add(f)
	}
}

// withoutCPU is for the cpu controller, without which runs start where nobody asked for a CPU limit.
func (e *examination) withoutCPU(f Finding, parent *cgroup.Parent) Finding {
	grant := parent.GrantCPU()
	f.Status, f.Seen, f.Means = Warn, "the cpu controller is not delegated", "nothing holds a run to its CPUs, and --cpus is refused"
	f.Cure, f.Command = grant, command(grant, "systemd-run --scope -p Delegate=yes scidex-oci run COMMAND")
	return f
}

// controllerOf is the controller whose file an error is about, "" where it is about none.
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
