package selftest

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
)

// writeTrials try to change the inputs and the root filesystem.
func (v view) writeTrials() (all []trial) {
	for _, in := range v.inputs {
		if in.dir {
			all = append(all, in.unchanged("write", canary.Attempt{Do: "change directory", At: in.inside}, "create", "mkdir", "chmod"))
		}
		file := in.inside
		if in.dir {
			file = filepath.Join(in.inside, in.file)
		}
		if !in.dir || in.file != "" {
			all = append(all, in.unchanged("change", canary.Attempt{Do: "change file", At: file}, "write", "append", "truncate", "remove", "chmod"))
		}
		if in.dir {
			all = append(all, fact("sockets", in.inside, canary.Attempt{Do: "connect below", At: in.inside}, v.judgeSockets))
		}
	}
	return append(all,
		fact("write", "/", canary.Attempt{Do: "create below", At: "/", With: v.skipped(writable...)}, judge.NothingCreated),
		fact("sockets", "/", canary.Attempt{Do: "connect below", At: "/", With: v.skipped("/proc")}, v.judgeSockets))
}

// writable are the directories that a run may write, and /proc, where nothing can be created.
var writable = []string{"/work", "/tmp", "/dev/shm", "/dev/pts", "/home/analysis", "/proc"}

// skipped are paths that a search of the root omits: the inputs, which have their own trials, and others.
func (v view) skipped(others ...string) string {
	var paths []string
	for _, in := range v.inputs {
		paths = append(paths, in.inside)
	}
	return strings.Join(append(append(paths, canary.Dir), others...), "\n")
}

// unchanged wants the steps to be refused and the source to be unchanged, as seen from outside.
func (in input) unchanged(check string, attempt canary.Attempt, steps ...string) trial {
	inside := judge.Refused(steps, canary.Unwritable...)
	return fact(check, attempt.At, attempt, func(o canary.Outcome) (judge.Result, string) {
		result, detail := inside(o)
		if in.changed() {
			return judge.Worse(result, judge.Inconclusive), detail + "; but " + in.source + " was changed meanwhile, by whomever"
		}
		return result, detail
	})
}

// postureTrials are about the privileges of a canary, and what it sees of the launcher's root, secret and processes.
func (v view) postureTrials(root, secret string, pids []int, keptGroups func() []int) (all []trial) {
	all = append(all,
		fact("descriptors", "0 to 2", canary.Attempt{Do: "descriptors"}, judge.Descriptors),
		fact("environment", "variables", canary.Attempt{Do: "environment", At: secret}, judge.Environment(v.variables)),
		fact("privileges", "status", canary.Attempt{Do: "status"}, judge.Status(keptGroups)),
		fact("privileges", "system calls", canary.Attempt{Do: "privileges"}, judge.SystemCalls),
		fact("privileges", "address families", canary.Attempt{Do: "families"}, judge.Families),
		fact("privileges", "user namespaces", canary.Attempt{Do: "kernel file", At: "/proc/sys/user/max_user_namespaces"}, judge.UserNamespaces),
		fact("processes", "in /proc", canary.Attempt{Do: "processes"}, judge.Processes),
		fact("files", root, canary.Attempt{Do: "stat", At: root}, judge.Absent),
	)
	for _, pid := range pids {
		all = append(all, fact("processes", fmt.Sprintf("signal to %d", pid), canary.Attempt{Do: "signal", At: strconv.Itoa(pid)}, judge.Signal))
	}
	for _, name := range []string{"mem", "environ", "maps", "root/", "cwd/", "exe"} {
		path := "/proc/1/" + name
		all = append(all, fact("processes", path, canary.Attempt{Do: "read", At: path}, judge.Unreadable))
	}
	return append(all, fact("processes", "/proc/1/fd", canary.Attempt{Do: "entries", At: "/proc/1/fd"}, judge.Unreadable))
}
