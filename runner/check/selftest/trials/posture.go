package trials

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/view"
	"github.com/scidex-ai/scidex-oci/runner/host/landlock"
)

// Writes try to change the inputs and the root filesystem.
func Writes(v view.View) (all []Trial) {
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
			all = append(all, Fact("sockets", in.Inside, canary.Attempt{Do: "connect below", At: in.Inside}, judgeSockets(v)))
		}
	}
	return append(all,
		Fact("write", "/", canary.Attempt{Do: "create below", At: "/", With: skipped(v, append(v.Analysis.WorkDirs(), writable...)...)}, judge.NothingCreated),
		Fact("sockets", "/", canary.Attempt{Do: "connect below", At: "/", With: skipped(v, "/proc")}, judgeSockets(v)))
}

// writable are the directories that a run may write besides /work, and /proc, where nothing can be created.
var writable = []string{"/tmp", "/dev/shm", "/dev/pts", "/home/analysis", "/proc"}

// skipped are paths that a search of the root omits: the inputs, which have their own trials, and others.
func skipped(v view.View, others ...string) string {
	var paths []string
	for _, in := range v.Inputs {
		paths = append(paths, in.Inside)
	}
	return strings.Join(append(append(paths, canary.Dir), others...), "\n")
}

// unchanged wants the steps to be refused and the source to be unchanged, as seen from outside.
func unchanged(in view.Input, check string, attempt canary.Attempt, steps ...string) Trial {
	inside := judge.Refused(steps, canary.Unwritable...)
	return Fact(check, attempt.At, attempt, func(o canary.Outcome) (judge.Result, string) {
		result, detail := inside(o)
		if in.Changed() {
			return judge.Worse(result, judge.Inconclusive), detail + "; but " + in.Source + " was changed meanwhile, by whomever"
		}
		return result, detail
	})
}

// Posture are about the privileges of a canary, and what it sees of the launcher's root, secret and processes.
func Posture(v view.View, root, secret string, pids []int, sandbox func() result.Sandbox) (all []Trial) {
	keptGroups := func() []int { return sandbox().Groups }
	held := func() int { return sandbox().Landlock }
	all = append(all,
		Fact("descriptors", "0 to 2", canary.Attempt{Do: "descriptors"}, judge.Descriptors),
		Fact("environment", "variables", canary.Attempt{Do: "environment", At: secret}, judge.Environment(v.Variables)),
		Fact("privileges", "status", canary.Attempt{Do: "status"}, judge.Status(keptGroups)),
		Fact("privileges", "Landlock", canary.Attempt{Do: "signal init"}, judge.Landlock(held, landlock.Version())),
		Fact("privileges", "system calls", canary.Attempt{Do: "privileges"}, judge.SystemCalls),
		Fact("privileges", "address families", canary.Attempt{Do: "families"}, judge.Families),
		Fact("privileges", "user namespaces", canary.Attempt{Do: "kernel file", At: "/proc/sys/user/max_user_namespaces"}, judge.UserNamespaces),
		Fact("processes", "in /proc", canary.Attempt{Do: "processes"}, judge.Processes),
		Fact("files", root, canary.Attempt{Do: "stat", At: root}, judge.Absent),
	)
	for _, pid := range pids {
		all = append(all, Fact("processes", fmt.Sprintf("signal to %d", pid), canary.Attempt{Do: "signal", At: strconv.Itoa(pid)}, judge.Signal))
	}
	for _, name := range []string{"mem", "environ", "maps", "root/", "cwd/", "exe"} {
		path := "/proc/1/" + name
		all = append(all, Fact("processes", path, canary.Attempt{Do: "read", At: path}, judge.Unreadable))
	}
	return append(all, Fact("processes", "/proc/1/fd", canary.Attempt{Do: "entries", At: "/proc/1/fd"}, judge.Unreadable))
}
