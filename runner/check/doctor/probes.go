package doctor

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor"
	"github.com/scidex-ai/scidex-oci/runner/sandbox/supervisor/rootmount"
)

// childProbe is a probe in a child process, with what its result means. Its name is the code of its finding.
type childProbe struct {
	probe.Probe
	needs  []string // codes; where one has failed this probe is skipped
	works  string   // what success means for runs, one sentence
	fails  string   // what failure means
	warns  bool     // after a failure runs start with less
	remedy func(error) remedies.Remedy
}

// step makes a step of the supervisor the function of a probe.
func step(seen string, do func() error) func() (string, error) {
	return func() (string, error) { return seen, do() }
}

// childProbes in execution order.
func childProbes() []childProbe {
	inner := []string{CodeUnshare, CodeRange}
	return []childProbe{
		{
			Probe:  probe.Probe{Name: CodeUnshare, IDs: probe.MapNothing, Do: step("a child of ours ran in a user namespace of its own", ownNamespace)},
			remedy: remedyNamespace,
			works:  "runs can be walled off in a user namespace",
			fails:  "no run can start: the outermost wall is a user namespace",
		},
		{
			Probe: probe.Probe{Name: CodeSelf, IDs: probe.MapSelf, Do: identity},
			needs: []string{CodeUnshare}, remedy: remedyNamespace,
			works: "a caller can be root of a namespace of its own",
			fails: "no run of a caller without a range of ids can start",
		},
		{
			Probe: probe.Probe{Name: CodeRange, IDs: probe.MapAccount, Do: identity},
			needs: []string{CodeUnshare}, remedy: remedyMaps,
			works: "the supervisor gets the ids that it gives to runs",
			fails: "no run can start: the supervisor gets no ids",
		},
		{
			Probe: probe.Probe{Name: CodeNested, IDs: probe.MapAccount, Do: nested},
			needs: inner, remedy: remedyNamespace,
			works: "each run gets a user namespace within the supervisor's",
			fails: "no run can start: a run has a user namespace within the supervisor's",
		},
		{
			Probe: probe.Probe{Name: CodeTmpfs, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("mounted one and wrote to it", rootmount.RehearseTmpfs)},
			needs: inner, remedy: remedyMount,
			works: "root filesystem, /tmp and home of runs can be made",
			fails: "no run can start: its root filesystem is a tmpfs",
		},
		{
			Probe: probe.Probe{Name: CodeProc, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Do: step("mounted one for a PID namespace of its own", supervisor.RehearseProc)},
			needs: inner, remedy: remedyProc,
			works: "runs see their own processes only",
			fails: "no run can start: it has a /proc of its own",
		},
		{
			Probe: probe.Probe{Name: CodeBind, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("open_tree, mount_setattr and move_mount made a bind that cannot be written to (EROFS)", rootmount.RehearseBind)},
			needs: []string{CodeTmpfs}, remedy: remedyBind,
			works: "inputs can be bound read-only",
			fails: "no run can start: nothing of the host can be bound read-only",
		},
		{
			Probe: probe.Probe{Name: CodeOverlay, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWNS, Do: step("a unix socket below an overlay with userxattr refuses connections", rootmount.RehearseOverlay)},
			needs: []string{CodeTmpfs}, remedy: remedyOverlay, warns: true,
			works: "a unix socket in a bound directory is out of reach, also one that is made later",
			fails: "that a bound directory has no unix socket is only looked at before the start: one made later can be reached",
		},
		{
			Probe: probe.Probe{Name: CodeNetwork, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWNET, Do: step("an empty one with a loopback that answers", supervisor.RehearseLoopback)},
			needs: inner, remedy: remedyNamespace,
			works: "runs have no network but a loopback of their own",
			fails: "no run can start: it would have the host's network",
		},
		{
			Probe: probe.Probe{Name: CodeIPC, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWIPC, Do: step("made one", ownNamespace)},
			needs: inner, remedy: remedyNamespace,
			works: "runs share no System V objects or queues with the host",
			fails: "no run can start: it would share the host's System V objects",
		},
		{
			Probe: probe.Probe{Name: CodeUTS, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWUTS, Do: hostName},
			needs: inner, remedy: remedyNamespace,
			works: "runs have a host name of their own",
			fails: "no run can start: it has a host name of its own",
		},
		{
			Probe: probe.Probe{Name: CodeCgroupNS, IDs: probe.MapAccount, Namespaces: unix.CLONE_NEWCGROUP, Do: step("made one", ownNamespace)},
			needs: inner, remedy: remedyNamespace,
			works: "runs do not see where their control group is",
			fails: "no run can start: it has a cgroup namespace",
		},
		{
			Probe:  probe.Probe{Name: CodeFilter, Do: filtered},
			remedy: remedyKernel,
			works:  "system calls that runs must not make are refused",
			fails:  "no run can start: its system calls cannot be filtered",
		},
		{
			Probe: probe.Probe{Name: CodeNotify, Do: notified},
			needs: []string{CodeFilter}, remedy: remedyNotify,
			works: "what runs try to reach is noted (audit)",
			fails: "runs start with --audit off only",
		},
		{
			Probe:  probe.Probe{Name: CodeParent, Do: parentDeath},
			remedy: remedyKernel,
			works:  "a supervisor dies with its launcher, and its runs with it",
			fails:  "runs could outlive this program",
		},
		{
			Probe:  probe.Probe{Name: CodePidfd, Do: pidfd},
			remedy: remedyKernel,
			works:  "processes of runs are signalled by what they are and not by a number",
			fails:  "no run can start: its processes cannot be held by a descriptor",
		},
	}
}

// checkNamespaces runs the child probes, and looks up the ids before the probe of a range.
func (e *examination) checkNamespaces(ctx context.Context) {
	for _, p := range childProbes() {
		if p.Name == CodeRange {
			e.add(judgeSubIDs(e.account, e.analysis.IDs, e.analysis.Limits))
		}
		e.try(ctx, p)
	}
}

func (e *examination) try(ctx context.Context, p childProbe) {
	if after, ok := e.report.obstacle(p.needs); ok {
		e.skip(p.Name, after)
		return
	}
	seen, err := p.Run(ctx, e.account)
	if err == nil {
		e.add(Finding{Code: p.Name, Status: OK, Seen: seen, Means: p.works})
		return
	}
	e.add(e.judge(p, err))
}

// judge says what the failure of a probe means for runs with these flags.
func (e *examination) judge(p childProbe, err error) Finding {
	status := Fail
	unused := p.Name == CodeSelf && (e.account.HasRange() || e.account.Root())
	if p.warns || unused || p.Name == CodeNotify && e.options.NoAudit {
		status = Warn
	}
	remedy := e.around.specific(p.remedy(err))
	if ids, ok := e.host.ids(e.around); ok && p.Name == CodeRange {
		remedy = ids
	}
	if outOfProcesses(err.Error()) {
		remedy = remedies.Processes
	}
	if p.Name == CodeOverlay && !errors.Is(err, unix.EPERM) {
		remedy.Sentence = "the kernel must have overlayfs in user namespaces (Linux 5.11)"
	}
	return Finding{Code: p.Name, Seen: err.Error()}.as(status, p.fails, remedy)
}
