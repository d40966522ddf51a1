package doctor

import (
	"context"
	"errors"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// trial is something that a child of ours tries in namespaces of its own.
type trial struct {
	code       string
	needs      []string // codes; where one has failed this is not tried
	ids        mapping
	namespaces uintptr                // beside the user namespace
	do         func() (string, error) // in the child; what was seen
	works      string                 // what it means for runs, each a sentence
	fails      string
	warns      bool // a failure takes something from runs and does not keep them from starting
	cure       func(error) sandbox.Remedy
}

// step is a trial's do that is a step of the supervisor's.
func step(seen string, do func() error) func() (string, error) {
	return func() (string, error) { return seen, do() }
}

// trials in the order in which they are made.
func trials() []trial {
	inner := []string{CodeUnshare, CodeRange}
	return []trial{
		{
			code: CodeUnshare, ids: mapNothing, do: step("a child of ours ran in a user namespace of its own", ownNamespace), cure: cureNamespace,
			works: "runs can be walled off in a user namespace", fails: "no run can start: the outermost wall is a user namespace",
		},
		{
			code: CodeSelf, needs: []string{CodeUnshare}, ids: mapSelf, do: identity, cure: cureNamespace,
			works: "a caller can be root of a namespace of its own", fails: "no run of a caller without a range of ids can start",
		},
		{
			code: CodeRange, needs: []string{CodeUnshare}, ids: mapAccount, do: identity, cure: cureMaps,
			works: "the supervisor gets the ids that it gives to runs", fails: "no run can start: the supervisor gets no ids",
		},
		{
			code: CodeNested, needs: inner, ids: mapAccount, do: nested, cure: cureNamespace,
			works: "each run gets a user namespace within the supervisor's", fails: "no run can start: a run has a user namespace within the supervisor's",
		},
		{
			code: CodeTmpfs, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWNS, cure: cureMount,
			do:    step("mounted one and wrote to it", sandbox.RehearseTmpfs),
			works: "root filesystem, /tmp and home of runs can be made", fails: "no run can start: its root filesystem is a tmpfs",
		},
		{
			code: CodeProc, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWNS | unix.CLONE_NEWPID, cure: cureProc,
			do:    step("mounted one for a PID namespace of its own", sandbox.RehearseProc),
			works: "runs see their own processes only", fails: "no run can start: it has a /proc of its own",
		},
		{
			code: CodeBind, needs: []string{CodeTmpfs}, ids: mapAccount, namespaces: unix.CLONE_NEWNS, cure: cureBind,
			do:    step("open_tree, mount_setattr and move_mount made a bind that cannot be written to (EROFS)", sandbox.RehearseBind),
			works: "inputs can be bound read-only", fails: "no run can start: nothing of the host can be bound read-only",
		},
		{
			code: CodeOverlay, needs: []string{CodeTmpfs}, ids: mapAccount, namespaces: unix.CLONE_NEWNS, cure: cureOverlay, warns: true,
			do:    step("a unix socket below an overlay with userxattr refuses connections", sandbox.RehearseOverlay),
			works: "a unix socket in a bound directory is out of reach, also one that is made later",
			fails: "that a bound directory has no unix socket is only looked at before the start: one made later can be reached",
		},
		{
			code: CodeNetwork, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWNET, cure: cureNamespace,
			do:    step("an empty one with a loopback that answers", sandbox.RehearseLoopback),
			works: "runs have no network but a loopback of their own", fails: "no run can start: it would have the host's network",
		},
		{
			code: CodeIPC, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWIPC, do: step("made one", ownNamespace), cure: cureNamespace,
			works: "runs share no System V objects or queues with the host", fails: "no run can start: it would share the host's System V objects",
		},
		{
			code: CodeUTS, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWUTS, do: hostName, cure: cureNamespace,
			works: "runs have a host name of their own", fails: "no run can start: it has a host name of its own",
		},
		{
			code: CodeCgroupNS, needs: inner, ids: mapAccount, namespaces: unix.CLONE_NEWCGROUP, do: step("made one", ownNamespace), cure: cureNamespace,
			works: "runs do not see where their control group is", fails: "no run can start: it has a cgroup namespace",
		},
		{
			code: CodeFilter, do: filtered, cure: cureKernel,
			works: "system calls that runs must not make are refused", fails: "no run can start: its system calls cannot be filtered",
		},
		{
			code: CodeNotify, needs: []string{CodeFilter}, do: notified, cure: cureNotify,
			works: "what runs try to reach is noted (audit)", fails: "runs start with --audit off only",
		},
		{
			code: CodeParent, do: parentDeath, cure: cureKernel,
			works: "a supervisor dies with its launcher, and its runs with it", fails: "runs could outlive this program",
		},
		{
			code: CodePidfd, do: pidfd, cure: cureKernel,
			works: "processes of runs are signalled by what they are and not by a number", fails: "no run can start: its processes cannot be held by a descriptor",
		},
	}
}

// namespaces makes the trials, and looks up the ids in between.
func (e *examination) namespaces(ctx context.Context) {
	for _, t := range trials() {
		if t.code == CodeRange {
			e.subIDs()
		}
		e.try(ctx, t)
	}
}

func (e *examination) try(ctx context.Context, t trial) {
	if after, ok := e.report.obstacle(t.needs); ok {
		e.skip(t.code, after)
		return
	}
	seen, err := t.try(ctx, e.account)
	if err == nil {
		e.add(Finding{Code: t.code, Status: OK, Seen: seen, Means: t.works})
		return
	}
	e.add(e.judge(t, err))
}

// judge says what the failure of a trial means for runs with these flags.
func (e *examination) judge(t trial, err error) Finding {
	f := Finding{Code: t.code, Status: Fail, Seen: err.Error(), Means: t.fails}
	remedy := e.around.here(t.cure(err))
	if ids, ok := e.host.ids(e.around); ok && t.code == CodeRange {
		remedy = ids
	}
	if starved(f.Seen) {
		remedy = sandbox.ProcessesRemedy
	}
	f.Cure, f.Command = remedy.Sentence, remedy.Command
	idle := t.code == CodeSelf && (e.account.HasRange() || e.account.Root())
	if t.warns || idle || t.code == CodeNotify && e.options.NoAudit {
		f.Status = Warn
	}
	if t.code == CodeOverlay && !errors.Is(err, unix.EPERM) {
		f.Cure = "the kernel must have overlayfs in user namespaces (Linux 5.11)"
	}
	return f
}
