package selftest

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/spec"
)

// got is an outcome of pairs of steps and results.
func got(pairs ...string) canary.Outcome {
	o := canary.Outcome{Got: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Got[pairs[i]] = pairs[i+1]
	}
	return o
}

// Everything that is not the expected refusal is a failure, or proves nothing.
func TestRefused(t *testing.T) {
	judge := refused("write", "create", "chmod")
	for _, c := range []struct {
		name string
		said canary.Outcome
		want check.Status
	}{
		{"both refused", got("create", "EROFS", "chmod", "EPERM"), check.Pass},
		{"one reached", got("create", "ok", "chmod", "EPERM"), check.Fail},
		{"one missing", got("create", "EROFS"), check.Fail},
		{"one more", got("create", "EROFS", "chmod", "EPERM", "mkdir", "EROFS"), check.Fail},
		{"another in its place", got("create", "EROFS", "mkdir", "EROFS"), check.Fail},
		{"empty", canary.Outcome{}, check.Fail},
		{"no word", got("create", "", "chmod", "EPERM"), check.Fail},
		{"an unknown word", got("create", "EROFS", "chmod", "fine"), check.Fail},
		{"another error", got("create", "ENOSPC", "chmod", "EPERM"), check.Fail},
		{"in capitals", got("create", "OK", "chmod", "EPERM"), check.Fail},
		{"gone", got("create", "ENOENT", "chmod", "EPERM"), check.Inconclusive},
		{"slow", got("create", "timeout", "chmod", "EPERM"), check.Inconclusive},
		{"slow and reached", got("create", "timeout", "chmod", "ok"), check.Fail},
	} {
		if result, detail := judge(c.said); result != c.want || detail == "" {
			t.Errorf("%s: %s, %q; want %s", c.name, result, detail, c.want)
		}
	}
}

func TestAttackOf(t *testing.T) {
	for _, c := range []struct {
		host, said string
		want       check.Status
	}{
		{"127.0.0.1", "ECONNREFUSED", check.Pass},
		{"::1", "ECONNREFUSED", check.Pass},
		{"localhost", "ECONNREFUSED", check.Pass},
		{"0.0.0.0", "ECONNREFUSED", check.Pass},
		{"10.0.0.1", "ENETUNREACH", check.Pass},
		{"fe80::1%eth0", "EINVAL", check.Pass},
		{"db.example", "unresolved", check.Pass},
		{"10.0.0.1", "ECONNREFUSED", check.Fail}, // something refused it
		{"db.example", "ECONNREFUSED", check.Fail},
		{"10.0.0.1", "ECONNRESET", check.Fail},
		{"10.0.0.1", "EINVAL", check.Fail},
		{"127.0.0.1", "unresolved", check.Inconclusive},
		{"10.0.0.1", "ETIMEDOUT", check.Inconclusive},
		{"10.0.0.1", "timeout", check.Inconclusive},
		{"10.0.0.1", "error", check.Inconclusive},
		{"10.0.0.1", "ok", check.Fail},
		{"127.0.0.1", "ok", check.Fail},
	} {
		if result, _ := refused(attackOf(c.host), "connect")(got("connect", c.said)); result != c.want {
			t.Errorf("%s %s: %s, want %s", c.host, c.said, result, c.want)
		}
	}
}

func TestNothingCreated(t *testing.T) {
	for name, c := range map[string]struct {
		said canary.Outcome
		want check.Status
	}{
		"all closed": {canary.Outcome{Count: 9}, check.Pass},
		"one open":   {canary.Outcome{Count: 9, Got: map[string]string{"/etc": "ok"}}, check.Fail},
		"one odd":    {canary.Outcome{Count: 9, Got: map[string]string{"/etc": "ENOSPC"}}, check.Fail},
		"none tried": {canary.Outcome{}, check.Fail},
		"not all":    {canary.Outcome{Count: 9, Partial: true}, check.Inconclusive},
		"both":       {canary.Outcome{Count: 9, Partial: true, Got: map[string]string{"/etc": "ok"}}, check.Fail},
	} {
		result, detail := nothingCreated(c.said)
		if result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
		if len(c.said.Got) > 0 && !strings.Contains(detail, "/etc") {
			t.Errorf("%s: %q does not say where", name, detail)
		}
	}
}

func TestProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		said canary.Outcome
		want check.Status
	}{
		"init and itself":       {got("self", "2", "1", "scidex-init", "2", "canary"), check.Pass},
		"one more":              {got("self", "2", "1", "scidex-init", "2", "canary", "3", "postgres"), check.Fail},
		"not itself":            {got("self", "2", "1", "scidex-init"), check.Fail},
		"not its init":          {got("self", "2", "2", "canary"), check.Fail},
		"another in its place":  {got("self", "2", "1", "scidex-init", "3", "canary"), check.Fail},
		"two, but not init":     {got("self", "2", "2", "canary", "3", "postgres"), check.Fail},
		"no self":               {got("1", "scidex-init", "2", "canary"), check.Fail},
		"self is no number":     {got("self", "x", "1", "scidex-init", "x", "canary"), check.Fail},
		"itself init":           {got("self", "1", "1", "canary", "2", "x"), check.Fail},
		"no more than told":     {canary.Outcome{Got: got("self", "2", "1", "i", "2", "c").Got, Partial: true}, check.Fail},
		"nothing":               {canary.Outcome{}, check.Fail},
		"itself without a name": {got("self", "2", "1", "scidex-init", "2", ""), check.Fail},
	} {
		if result, detail := processes(c.said); result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
	}
}

func TestSignalled(t *testing.T) {
	for said, want := range map[string]check.Status{
		"ESRCH": check.Pass, "EPERM": check.Pass, "own": check.Pass, "ok": check.Fail, "": check.Fail, "EINVAL": check.Fail, "error": check.Inconclusive,
	} {
		if result, detail := signalled(got("kill", said)); result != want {
			t.Errorf("%q: %s (%s), want %s", said, result, detail, want)
		}
	}
	if result, _ := signalled(canary.Outcome{}); result != check.Fail {
		t.Errorf("nothing: %s", result)
	}
}

func TestEnvironment(t *testing.T) {
	judge := environment([]string{"HOME", "PATH"})
	for name, c := range map[string]struct {
		said canary.Outcome
		want check.Status
	}{
		"as given":            {got("HOME", "", "PATH", ""), check.Pass},
		"one more":            {got("HOME", "", "PATH", "", "PGPASSWORD", ""), check.Fail},
		"one less":            {got("HOME", ""), check.Fail},
		"the launcher's word": {got("HOME", "ok", "PATH", ""), check.Fail},
		"nothing":             {canary.Outcome{}, check.Fail},
		"not all":             {canary.Outcome{Got: got("HOME", "", "PATH", "").Got, Partial: true}, check.Fail},
	} {
		if result, detail := judge(c.said); result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
	}
}

func goodStatus() map[string]string {
	return got("CapInh", "0000", "CapPrm", "0000", "CapEff", "0000", "CapBnd", "0000", "CapAmb", "0000",
		"NoNewPrivs", "1", "Seccomp", "2", "Groups", "", "Uid", "1000 1000 1000 1000", "Gid", "1000 1000 1000 1000").Got
}

func TestStatus(t *testing.T) {
	kept := []int{27}
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		groups []int
		want   check.Status
	}{
		{"good", func(map[string]string) {}, nil, check.Pass},
		{"its own group", func(s map[string]string) { s["Groups"] = "1000" }, nil, check.Pass},
		{"a capability", func(s map[string]string) { s["CapBnd"] = "0020" }, nil, check.Fail},
		{"no capability line", func(s map[string]string) { delete(s, "CapAmb") }, nil, check.Fail},
		{"an empty one", func(s map[string]string) { s["CapEff"] = "" }, nil, check.Fail},
		{"new privileges", func(s map[string]string) { s["NoNewPrivs"] = "0" }, nil, check.Fail},
		{"no such line", func(s map[string]string) { delete(s, "NoNewPrivs") }, nil, check.Fail},
		{"strict mode", func(s map[string]string) { s["Seccomp"] = "1" }, nil, check.Fail},
		{"no filter", func(s map[string]string) { s["Seccomp"] = "0" }, nil, check.Fail},
		{"no groups told", func(s map[string]string) { delete(s, "Groups") }, nil, check.Fail},
		{"groups", func(s map[string]string) { s["Groups"] = "65534" }, nil, check.Fail},
		{"groups that the result has", func(s map[string]string) { s["Groups"] = "65534" }, kept, check.Accepted},
		{"groups and a capability", func(s map[string]string) { s["Groups"], s["CapEff"] = "65534", "1" }, kept, check.Fail},
	} {
		said := goodStatus()
		c.change(said)
		judge := status(func() []int { return c.groups })
		if result, detail := judge(canary.Outcome{Got: said}); result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
	if result, _ := status(func() []int { return nil })(canary.Outcome{}); result != check.Fail {
		t.Errorf("nothing: %s", result)
	}
}

func TestLandlock(t *testing.T) {
	for _, c := range []struct {
		held, had int
		init      string
		want      check.Status
	}{
		{7, 7, "EPERM", check.Pass},
		{7, 7, canary.OK, check.Fail},
		{7, 7, "", check.Fail},
		{0, 7, "EPERM", check.Fail},
		{2, 2, canary.OK, check.Pass},
		{0, 0, canary.OK, check.Pass},
		{2, 0, canary.OK, check.Fail},
	} {
		result, detail := heldByLandlock(func() int { return c.held }, c.had)(canary.Outcome{Got: map[string]string{"init": c.init}})
		if result != c.want {
			t.Errorf("%+v: %s (%s)", c, result, detail)
		}
	}
}

// loadHeldBy is a run that ended for the reason, with the outcomes, and whose limits one word held.
func loadHeldBy(by string, reason outcome.Reason, outcomes ...canary.Outcome) load {
	s := load{Asked: spec.Analysis{Memory: 64 * spec.MiB, Pids: 40, CPUs: 0.2, LogSize: spec.KiB, WorkSize: 16 * spec.MiB, WorkFiles: 100, Timeout: 2e9, Grace: 1e8}, Outcomes: outcomes}
	s.Result.State, s.Result.Reason = "failed", reason
	for _, limit := range []string{"memory", "pids", "cpus", "work_size", "work_files"} {
		s.Result.Enforced = append(s.Result.Enforced, result.Enforcement{Limit: limit, By: by})
	}
	return s
}

func (s load) with(change func(*result.Result)) load { change(&s.Result); return s }

func ofCount(o canary.Outcome, n int64) canary.Outcome { o.Count = n; return o }

// Where the kernel counts, what the canary says of itself proves nothing.
func TestLimits(t *testing.T) {
	killed := func(r *result.Result) { r.Evidence.OOMKills = 1 }
	denied := func(n int64) func(*result.Result) {
		return func(r *result.Result) { r.Evidence.PidsDenied, r.Usage.PidsPeak = 1, n }
	}
	used := func(wall, cpu, held int64) func(*result.Result) {
		return func(r *result.Result) { r.Usage.WallMS, r.Usage.CPUMS, r.Evidence.ThrottledPeriods = wall, cpu, held }
	}
	logged := func(bytes int64, truncated bool) func(*result.Result) {
		return func(r *result.Result) { r.Logs.Stderr = result.Log{Bytes: bytes, Truncated: truncated} }
	}
	seen := func(bytes, files int64) func(*result.Result) {
		return func(r *result.Result) { r.Evidence.WorkBytes, r.Evidence.WorkFiles = bytes, files }
	}
	for _, c := range []struct {
		name  string
		judge func(load) (check.Status, string)
		run   load
		want  check.Status
	}{
		{"memory: killed", exceededMemory, loadHeldBy("cgroup", "out_of_memory").with(killed), check.Pass},
		{"memory: killed, says the canary", exceededMemory, loadHeldBy("cgroup", "exit", got("take", "ENOMEM")), check.Fail},
		{"memory: said without a counter", exceededMemory, loadHeldBy("cgroup", "out_of_memory"), check.Fail},
		{"memory: a 137 without a counter", exceededMemory, loadHeldBy("cgroup", "signal"), check.Fail},
		{"memory: took all", exceededMemory, loadHeldBy("cgroup", "exit", ofCount(got("take", "ok"), 96<<20)), check.Fail},
		{"memory: refused", exceededMemory, loadHeldBy("rlimit", "exit", ofCount(got("take", "ENOMEM"), 40<<20)), check.Pass},
		{"memory: refused too late", exceededMemory, loadHeldBy("rlimit", "exit", ofCount(got("take", "ENOMEM"), 80<<20)), check.Fail},
		{"memory: not refused", exceededMemory, loadHeldBy("rlimit", "exit", ofCount(got("take", "ok"), 96<<20)), check.Fail},
		{"memory: not told", exceededMemory, loadHeldBy("rlimit", "signal"), check.Fail},

		{"pids: denied", exceededPids, loadHeldBy("cgroup", "pids_limit").with(denied(40)), check.Pass},
		{"pids: denied above the limit", exceededPids, loadHeldBy("cgroup", "pids_limit").with(denied(41)), check.Fail},
		{"pids: denied, says the canary", exceededPids, loadHeldBy("cgroup", "exit", ofCount(got("fork", "EAGAIN"), 30)), check.Fail},
		{"pids: refused", exceededPids, loadHeldBy("rlimit", "exit", ofCount(got("fork", "EAGAIN"), 30)), check.Pass},
		{"pids: refused too late", exceededPids, loadHeldBy("rlimit", "exit", ofCount(got("fork", "EAGAIN"), 41)), check.Fail},
		{"pids: all made", exceededPids, loadHeldBy("rlimit", "exit", ofCount(got("fork", "ok"), 41)), check.Fail},
		{"pids: not told", exceededPids, loadHeldBy("rlimit", "signal"), check.Fail},

		{"cpus: held", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1100, 240, 900)), check.Pass},
		{"cpus: not held", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1100, 1900, 900)), check.Fail},
		{"cpus: ended early", exceededCPUs, loadHeldBy("cgroup", "signal").with(used(10, 2, 1)), check.Fail},
		{"cpus: held, and not counted", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1010, 202, 0)), check.Pass},
		{"cpus: used nothing", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1100, 0, 900)), check.Fail},
		{"cpus: not counted", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1100, 0, 0)), check.Fail},
		{"cpus: counted, and not held", exceededCPUs, loadHeldBy("cgroup", "exit").with(func(r *result.Result) {
			r.Usage.WallMS, r.Usage.CPUMS, r.Evidence.Periods = 1010, 202, 10
		}), check.Inconclusive},
		{"cpus: a busy host", exceededCPUs, loadHeldBy("cgroup", "exit").with(used(1100, 90, 0)), check.Inconclusive},

		{"work: ended", exceededWorkSize, loadHeldBy("watchdog", "work_full").with(seen(17<<20, 5)), check.Pass},
		{"work: ended for its names", exceededWorkSize, loadHeldBy("watchdog", "work_full").with(seen(5, 101)), check.Fail},
		{"work: said without figures", exceededWorkSize, loadHeldBy("watchdog", "work_full"), check.Fail},
		{"work: not ended", exceededWorkSize, loadHeldBy("watchdog", "exit", ofCount(got("write", "ok"), 128)), check.Fail},
		{"work: refused, and not by a tmpfs", exceededWorkSize, loadHeldBy("watchdog", "exit", ofCount(got("write", "ENOSPC"), 60)), check.Fail},
		{"work: refused", exceededWorkSize, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ENOSPC"), 64)), check.Pass},
		{"work: refused too late", exceededWorkSize, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ENOSPC"), 65)), check.Fail},
		{"work: refused at once", exceededWorkSize, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ENOSPC"), 0)), check.Fail},
		{"work: not refused", exceededWorkSize, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ok"), 128)), check.Fail},

		{"names: ended", exceededWorkFiles, loadHeldBy("watchdog", "work_full").with(seen(5, 101)), check.Pass},
		{"names: ended for its bytes", exceededWorkFiles, loadHeldBy("watchdog", "work_full").with(seen(17<<20, 5)), check.Fail},
		{"names: not ended", exceededWorkFiles, loadHeldBy("watchdog", "exit", ofCount(got("write", "ok"), 200)), check.Fail},
		{"names: refused", exceededWorkFiles, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ENOSPC"), 99)), check.Pass},
		{"names: refused too late", exceededWorkFiles, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ENOSPC"), 101)), check.Fail},
		{"names: not refused", exceededWorkFiles, loadHeldBy("tmpfs", "exit", ofCount(got("write", "ok"), 200)), check.Fail},

		{"tmp: full", exceededTmp, loadHeldBy("tmpfs", "timeout", ofCount(got("write", "ENOSPC"), 32<<20)), check.Pass},
		{"tmp: fuller", exceededTmp, loadHeldBy("tmpfs", "timeout", ofCount(got("write", "ENOSPC"), 33<<20)), check.Fail},
		{"tmp: never full", exceededTmp, loadHeldBy("tmpfs", "timeout", ofCount(got("write", "ok"), 64<<20)), check.Fail},
		{"tmp: full at once", exceededTmp, loadHeldBy("tmpfs", "timeout", ofCount(got("write", "ENOSPC"), 0)), check.Fail},
		{"tmp: not told", exceededTmp, loadHeldBy("tmpfs", "timeout"), check.Fail},

		{"log: cut", exceededLogs, loadHeldBy("watchdog", "timeout").with(logged(2048, true)), check.Pass},
		{"log: whole", exceededLogs, loadHeldBy("watchdog", "timeout").with(logged(2048, false)), check.Fail},
		{"log: too little", exceededLogs, loadHeldBy("watchdog", "timeout").with(logged(100, true)), check.Fail},

		{"timeout: ended", exceededTimeout, loadHeldBy("watchdog", "timeout").with(used(2200, 0, 0)), check.Pass},
		{"timeout: late", exceededTimeout, loadHeldBy("watchdog", "timeout").with(used(9000, 0, 0)), check.Fail},
		{"timeout: ended by itself", exceededTimeout, loadHeldBy("watchdog", "exit").with(used(2200, 0, 0)), check.Fail},
	} {
		if result, detail := c.judge(c.run); result != c.want || detail == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
}
