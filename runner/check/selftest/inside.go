package selftest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
)

// writeTrials try to change the inputs and the root filesystem.
func writeTrials(v view) (all []trial) {
	for _, in := range v.Inputs {
		if in.Dir {
			all = append(all, unchanged(in, "write", canary.Attempt{Do: "change directory", At: in.Inside}, "create", "mkdir", "chmod"))
		}
		file := in.Inside
		if in.Dir {
			file = filepath.Join(in.Inside, in.File)
		}
		if !in.Dir || in.File != "" {
			all = append(all, unchanged(in, "change", canary.Attempt{Do: "change file", At: file}, "write", "append", "truncate", "remove", "chmod"))
		}
		if in.Dir {
			all = append(all, fact("sockets", in.Inside, canary.Attempt{Do: "connect below", At: in.Inside}, v.socketsClosed))
		}
	}
	return append(all,
		fact("write", "/", canary.Attempt{Do: "create below", At: "/", With: skipped(v, append(v.Analysis.WorkDirs(), writable...)...)}, nothingCreated),
		fact("sockets", "/", canary.Attempt{Do: "connect below", At: "/", With: skipped(v, "/proc")}, v.socketsClosed))
}

// writable are the directories that a run may write besides /work, and /proc, where nothing can be created.
var writable = []string{"/tmp", "/dev/shm", "/dev/pts", "/home/analysis", "/proc"}

// skipped are paths that a search of the root omits: the inputs, which have their own trials, and others.
func skipped(v view, others ...string) string {
	var paths []string
	for _, in := range v.Inputs {
		paths = append(paths, in.Inside)
	}
	return strings.Join(append(append(paths, canary.Dir), others...), "\n")
}

// unchanged wants the steps to be refused and the source to be unchanged, as seen from outside.
func unchanged(in input, name string, attempt canary.Attempt, steps ...string) trial {
	inside := refused("write", steps...)
	return fact(name, attempt.At, attempt, func(o canary.Outcome) (check.Status, string) {
		result, detail := inside(o)
		if in.changed() {
			return worse(result, check.Inconclusive), detail + "; but " + in.Source + " was changed meanwhile, by whomever"
		}
		return result, detail
	})
}

// postureTrials are about the privileges of a canary, and what it sees of the launcher's root, secret and processes.
func postureTrials(v view, root, secret string, pids []int, sandbox func() result.Sandbox) (all []trial) {
	keptGroups := func() []int { return sandbox().Groups }
	held := func() int { return sandbox().Landlock }
	all = append(all,
		fact("descriptors", "0 to 2", canary.Attempt{Do: "descriptors"}, descriptors),
		fact("environment", "variables", canary.Attempt{Do: "environment", At: secret}, environment(v.Variables)),
		fact("privileges", "status", canary.Attempt{Do: "status"}, status(keptGroups)),
		fact("privileges", "Landlock", canary.Attempt{Do: "signal init"}, heldByLandlock(held, landlock.Version())),
		fact("privileges", "system calls", canary.Attempt{Do: "privileges"}, refused("privilege", "unshare user", "unshare mount", "unshare network", "mount")),
		fact("privileges", "address families", canary.Attempt{Do: "families"}, refused("family", slices.Collect(maps.Keys(canary.Families))...)),
		fact("privileges", "user namespaces", canary.Attempt{Do: "kernel file", At: "/proc/sys/user/max_user_namespaces"}, userNamespaces),
		fact("processes", "in /proc", canary.Attempt{Do: "processes"}, processes),
		fact("files", root, canary.Attempt{Do: "stat", At: root}, refused("hidden", "stat")),
	)
	for _, pid := range pids {
		all = append(all, fact("processes", fmt.Sprintf("signal to %d", pid), canary.Attempt{Do: "signal", At: strconv.Itoa(pid)}, signalled))
	}
	for _, name := range []string{"mem", "environ", "maps", "root/", "cwd/", "exe"} {
		path := "/proc/1/" + name
		all = append(all, fact("processes", path, canary.Attempt{Do: "read", At: path}, refused("init", "read")))
	}
	return append(all, fact("processes", "/proc/1/fd", canary.Attempt{Do: "entries", At: "/proc/1/fd"}, refused("init", "read")))
}

// socketsClosed requires that no socket or FIFO can be connected to. A refusing socket proves something only if it answers on
// the host.
func (v view) socketsClosed(o canary.Outcome) (check.Status, string) {
	result, details := check.Pass, []string{}
	for _, inside := range o.Steps() {
		one, detail := v.socketClosed(inside, o.Got[inside])
		result, details = worse(result, one), append(details, detail)
	}
	switch {
	case o.Partial:
		result = worse(result, check.Inconclusive)
		details = append(details, fmt.Sprintf("only the first %d entries were looked at", o.Count))
	case len(details) == 0:
		details = append(details, fmt.Sprintf("no socket or FIFO among %d entries", o.Count))
	}
	return result, strings.Join(details, "; ")
}

func (v view) socketClosed(inside, found string) (check.Status, string) {
	kind, got, _ := strings.Cut(found, " ")
	outside := v.outside(inside)
	detail := fmt.Sprintf("%s %s", kind, inside)
	if outside != "" {
		detail += fmt.Sprintf(" (%s on the host)", outside)
	}
	detail += ": " + got
	result := judgeStep(kind, got)
	if result != check.Pass || kind != "socket" {
		return result, detail
	}
	if outside == "" || canary.Perform(canary.Attempt{Do: "socket", At: outside}).Got["connect"] != canary.OK {
		return check.Inconclusive, detail + ", but nothing answers there on the host either"
	}
	return check.Pass, detail + ", while it answers on the host"
}

// neighbourTrials look for another run: its marks and its directory below tmp. The control is own, the outcomes of the
// canary that left the marks.
func neighbourTrials(tmp string, marks canary.Marks, own []canary.Outcome) (all []trial) {
	for i, mark := range marks.List() {
		t := trial{name: "neighbour", target: mark.What + " of " + marks.Name, attempt: mark.Attempt}
		t.judge = refused(mark.Attack, mark.Step)
		t.control = "the canary that left it reported nothing"
		if i < len(own) {
			t.controlled = own[i].Got[mark.Step] == canary.OK
			t.control = own[i].Got[mark.Step] + " by the canary that left it"
		}
		all = append(all, t)
	}
	dir := filepath.Join(tmp, lockdir.RunPrefix+marks.Name)
	return append(all, fact("neighbour", dir, canary.Attempt{Do: "stat", At: dir}, refused("hidden", "stat")))
}
