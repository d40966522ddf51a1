package selftest

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// writes are the probes of what may not be changed: inputs and the whole root.
func (t *test) writes() (all []probe) {
	for _, b := range t.view.inputs {
		if b.dir {
			all = append(all, b.probe("write", try{Do: "spoil", At: b.inside}, "create", "mkdir", "chmod"))
		}
		file := b.inside
		if b.dir {
			file = filepath.Join(b.inside, b.file)
		}
		if !b.dir || b.file != "" {
			all = append(all, b.probe("change", try{Do: "change", At: file}, "write", "append", "truncate", "remove", "chmod"))
		}
		if b.dir {
			all = append(all, own("sockets", b.inside, try{Do: "search", At: b.inside}, sealed(t.view)))
		}
	}
	return append(all,
		own("write", "/", try{Do: "plant", At: "/", With: strings.Join(append(t.elsewhere(), writable...), "\n")}, unplanted),
		own("sockets", "/", try{Do: "search", At: "/", With: strings.Join(append(t.elsewhere(), "/proc"), "\n")}, sealed(t.view)))
}

// writable are the places of a run's own, and /proc, where nothing can be made.
var writable = []string{"/work", "/tmp", "/dev/shm", "/dev/pts", "/home/analysis", "/proc"}

// elsewhere are the inputs, which have probes of their own.
func (t *test) elsewhere() (paths []string) {
	for _, b := range t.view.inputs {
		paths = append(paths, b.inside)
	}
	return append(paths, insideDir)
}

// own is a probe that needs no control: what it finds is a fact.
func own(check, target string, what try, judge judge) probe {
	return probe{check: check, target: target, try: what, judge: judge, controlled: true}
}

// probe demands that the steps are refused and, as seen from outside, that nothing has changed.
func (b bind) probe(check string, what try, steps ...string) probe {
	inside := refused(steps, closedFile...)
	return own(check, what.At, what, func(o outcome) (Result, string) {
		result, detail := inside(o)
		if b.changed() {
			return worse(result, Inconclusive), detail + "; but " + b.source + " was changed meanwhile, by whomever"
		}
		return result, detail
	})
}

// posture are the probes of what the canary is: its privileges, and what it sees of others.
func (t *test) posture(others []int) (all []probe) {
	all = append(all,
		own("descriptors", "0 to 2", try{Do: "descriptors"}, func(o outcome) (Result, string) {
			if !slices.Equal(sorted(o.Got), []string{"0", "1", "2"}) {
				return Fail, "open: " + o.String()
			}
			return Pass, "no other is open"
		}),
		own("environment", "variables", try{Do: "environment", At: t.secret}, t.judgeEnvironment),
		own("privileges", "status", try{Do: "status"}, t.judgeStatus),
		own("privileges", "system calls", try{Do: "privileges"},
			refused([]string{"unshare user", "unshare mount", "unshare network", "mount"}, "EPERM", "ENOSPC")),
		own("privileges", "address families", try{Do: "families"},
			refused(slices.Collect(maps.Keys(families)), "EAFNOSUPPORT", "EPERM", "EACCES", "ENOSYS")),
		own("privileges", "user namespaces", try{Do: "text", At: "/proc/sys/user/max_user_namespaces"}, func(o outcome) (Result, string) {
			if o.Got["text"] != "0" {
				return Fail, fmt.Sprintf("%q may be made", o.Got["text"])
			}
			return Pass, "none may be made"
		}),
		own("processes", "in /proc", try{Do: "processes"}, judgeProcesses),
		own("files", t.runner.Root, try{Do: "stat", At: t.runner.Root}, gone),
	)
	for _, pid := range others {
		all = append(all, own("processes", fmt.Sprintf("signal to %d", pid), try{Do: "signal", At: strconv.Itoa(pid)}, judgeSignal))
	}
	for _, name := range []string{"mem", "environ", "maps", "root/", "cwd/", "exe"} {
		path := "/proc/1/" + name
		all = append(all, own("processes", path, try{Do: "read", At: path}, refused([]string{"read"}, "EACCES", "EPERM")))
	}
	all = append(all, own("processes", "/proc/1/fd", try{Do: "entries", At: "/proc/1/fd"}, refused([]string{"read"}, "EACCES", "EPERM")))
	return all
}

func judgeSignal(o outcome) (Result, string) {
	if o.Got["kill"] == isOwn {
		return Pass, "that number is the canary's own inside"
	}
	return refused([]string{"kill"}, "ESRCH", "EPERM", "EACCES")(o)
}

// judgeProcesses demands that a canary sees its init and itself.
func judgeProcesses(o outcome) (Result, string) {
	itself := o.Got[self]
	seen := outcome{Got: map[string]string{}}
	for pid, name := range o.Got {
		if pid != self {
			seen.Got[pid] = name
		}
	}
	if _, err := strconv.Atoi(itself); err != nil || seen.Got[itself] == "" || seen.Got["1"] == "" || itself == "1" || len(seen.Got) != 2 || o.Partial {
		return Fail, "visible: " + seen.String()
	}
	return Pass, "its init and itself"
}

// judgeEnvironment demands that there is no variable but those that a run is given.
func (t *test) judgeEnvironment(o outcome) (Result, string) {
	for _, name := range sorted(o.Got) {
		if o.Got[name] == succeeded {
			return Fail, name + " holds what only the launcher's environment has"
		}
		if !slices.Contains(t.view.variables, name) {
			return Fail, name + " was not given to the run"
		}
	}
	if len(o.Got) != len(t.view.variables) || o.Partial {
		return Fail, fmt.Sprintf("%d variables where the run was given %d", len(o.Got), len(t.view.variables))
	}
	return Pass, fmt.Sprintf("%d, none of the launcher's", len(o.Got))
}

// judgeStatus reads proc_pid_status(5). Groups that a single id cannot drop are in the run's result too;
// runs with enforced limits refuse them unless the caller has asked for its own id.
func (t *test) judgeStatus(o outcome) (Result, string) {
	for _, name := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		if bits := o.Got[name]; bits == "" || strings.Trim(bits, "0") != "" {
			return Fail, fmt.Sprintf("capabilities: %s is %q", name, bits)
		}
	}
	for name, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		if o.Got[name] != want {
			return Fail, fmt.Sprintf("%s is %q, not %s", name, o.Got[name], want)
		}
	}
	detail := "no capability, no new privileges, system calls filtered"
	groups, told := o.Got["Groups"]
	groups = ownGroupOut(groups, o.Got["Gid"])
	switch {
	case !told:
		return Fail, "the canary did not tell its groups"
	case groups == "":
		return Pass, detail + ", no supplementary group"
	case len(t.main.Sandbox.Groups) == 0:
		return Fail, "supplementary groups " + groups + ", of which the run's result says nothing"
	}
	return Accepted, fmt.Sprintf("%s; the caller's groups %v are kept, because a single id cannot drop them", detail, t.main.Sandbox.Groups)
}

// ownGroupOut drops the group that the process has anyway.
func ownGroupOut(groups, gids string) string {
	own, _, _ := strings.Cut(gids, " ")
	return strings.Join(slices.DeleteFunc(strings.Fields(groups), func(g string) bool { return g == own }), " ")
}
