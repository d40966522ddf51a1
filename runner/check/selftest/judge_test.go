package selftest

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

func got(pairs ...string) outcome {
	o := outcome{Got: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Got[pairs[i]] = pairs[i+1]
	}
	return o
}

// Everything that is not the expected refusal is a failure, or proves nothing.
func TestRefused(t *testing.T) {
	judge := refused([]string{"create", "chmod"}, closedFile...)
	for _, c := range []struct {
		name string
		said outcome
		want Result
	}{
		{"both refused", got("create", "EROFS", "chmod", "EPERM"), Pass},
		{"one reached", got("create", "ok", "chmod", "EPERM"), Fail},
		{"one missing", got("create", "EROFS"), Fail},
		{"one more", got("create", "EROFS", "chmod", "EPERM", "mkdir", "EROFS"), Fail},
		{"another in its place", got("create", "EROFS", "mkdir", "EROFS"), Fail},
		{"empty", outcome{}, Fail},
		{"no word", got("create", "", "chmod", "EPERM"), Fail},
		{"an unknown word", got("create", "EROFS", "chmod", "fine"), Fail},
		{"another error", got("create", "ENOSPC", "chmod", "EPERM"), Fail},
		{"in capitals", got("create", "OK", "chmod", "EPERM"), Fail},
		{"gone", got("create", "ENOENT", "chmod", "EPERM"), Inconclusive},
		{"slow", got("create", "timeout", "chmod", "EPERM"), Inconclusive},
		{"slow and reached", got("create", "timeout", "chmod", "ok"), Fail},
	} {
		if result, detail := judge(c.said); result != c.want || detail == "" {
			t.Errorf("%s: %s, %q; want %s", c.name, result, detail, c.want)
		}
	}
}

func TestClosedAt(t *testing.T) {
	for _, c := range []struct {
		host, said string
		want       Result
	}{
		{"127.0.0.1", "ECONNREFUSED", Pass},
		{"::1", "ECONNREFUSED", Pass},
		{"localhost", "ECONNREFUSED", Pass},
		{"0.0.0.0", "ECONNREFUSED", Pass},
		{"10.0.0.1", "ENETUNREACH", Pass},
		{"fe80::1%eth0", "EINVAL", Pass},
		{"db.example", "unresolved", Pass},
		{"10.0.0.1", "ECONNREFUSED", Fail}, // somebody refused it
		{"db.example", "ECONNREFUSED", Fail},
		{"10.0.0.1", "ECONNRESET", Fail},
		{"10.0.0.1", "EINVAL", Fail},
		{"127.0.0.1", "unresolved", Inconclusive},
		{"10.0.0.1", "ETIMEDOUT", Inconclusive},
		{"10.0.0.1", "timeout", Inconclusive},
		{"10.0.0.1", "error", Inconclusive},
		{"10.0.0.1", "ok", Fail},
		{"127.0.0.1", "ok", Fail},
	} {
		if result, _ := refused([]string{"connect"}, closedAt(c.host)...)(got("connect", c.said)); result != c.want {
			t.Errorf("%s %s: %s, want %s", c.host, c.said, result, c.want)
		}
	}
}

// A control that comes to nothing takes the proof from a pass, and excuses nothing.
func TestVerdict(t *testing.T) {
	p := tcpProbe("127.0.0.1", "1")
	closed, open := got("connect", "ECONNREFUSED"), got("connect", "ok")
	for _, c := range []struct {
		name       string
		controlled bool
		said       *outcome
		want       Result
	}{
		{"refused, while it answers outside", true, &closed, Pass},
		{"refused, as outside", false, &closed, Inconclusive},
		{"reached", true, &open, Fail},
		{"reached, though not outside", false, &open, Fail},
		{"not told", true, nil, Fail},
		{"not told, and not reached outside", false, nil, Fail},
	} {
		p.controlled = c.controlled
		check := p.verdict(c.said, "it died")
		if check.Result != c.want || check.Target != "127.0.0.1:1" || check.Check != "tcp" || check.Detail == "" {
			t.Errorf("%s: %+v, want %s", c.name, check, c.want)
		}
		if c.said == nil && !strings.Contains(check.Detail, "it died") {
			t.Errorf("%s: %q does not say why", c.name, check.Detail)
		}
	}
}

func TestUnplanted(t *testing.T) {
	for name, c := range map[string]struct {
		said outcome
		want Result
	}{
		"all closed": {outcome{Count: 9}, Pass},
		"one open":   {outcome{Count: 9, Got: map[string]string{"/etc": "ok"}}, Fail},
		"one odd":    {outcome{Count: 9, Got: map[string]string{"/etc": "ENOSPC"}}, Fail},
		"none tried": {outcome{}, Fail},
		"not all":    {outcome{Count: 9, Partial: true}, Inconclusive},
		"both":       {outcome{Count: 9, Partial: true, Got: map[string]string{"/etc": "ok"}}, Fail},
	} {
		result, detail := unplanted(c.said)
		if result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
		if len(c.said.Got) > 0 && !strings.Contains(detail, "/etc") {
			t.Errorf("%s: %q does not say where", name, detail)
		}
	}
}

func TestJudgeProcesses(t *testing.T) {
	for name, c := range map[string]struct {
		said outcome
		want Result
	}{
		"init and itself":       {got("self", "2", "1", "scidex-init", "2", "canary"), Pass},
		"one more":              {got("self", "2", "1", "scidex-init", "2", "canary", "3", "postgres"), Fail},
		"not itself":            {got("self", "2", "1", "scidex-init"), Fail},
		"not its init":          {got("self", "2", "2", "canary"), Fail},
		"another in its place":  {got("self", "2", "1", "scidex-init", "3", "canary"), Fail},
		"two, but not init":     {got("self", "2", "2", "canary", "3", "postgres"), Fail},
		"no self":               {got("1", "scidex-init", "2", "canary"), Fail},
		"self is no number":     {got("self", "x", "1", "scidex-init", "x", "canary"), Fail},
		"itself init":           {got("self", "1", "1", "canary", "2", "x"), Fail},
		"no more than told":     {outcome{Got: got("self", "2", "1", "i", "2", "c").Got, Partial: true}, Fail},
		"nothing":               {outcome{}, Fail},
		"itself without a name": {got("self", "2", "1", "scidex-init", "2", ""), Fail},
	} {
		if result, detail := judgeProcesses(c.said); result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
	}
}

func TestJudgeSignal(t *testing.T) {
	for said, want := range map[string]Result{
		"ESRCH": Pass, "EPERM": Pass, "own": Pass, "ok": Fail, "": Fail, "EINVAL": Fail, "error": Inconclusive,
	} {
		if result, detail := judgeSignal(got("kill", said)); result != want {
			t.Errorf("%q: %s (%s), want %s", said, result, detail, want)
		}
	}
	if result, _ := judgeSignal(outcome{}); result != Fail {
		t.Errorf("nothing: %s", result)
	}
}

func TestJudgeEnvironment(t *testing.T) {
	test := &test{view: view{variables: []string{"HOME", "PATH"}}}
	for name, c := range map[string]struct {
		said outcome
		want Result
	}{
		"as given":            {got("HOME", "", "PATH", ""), Pass},
		"one more":            {got("HOME", "", "PATH", "", "PGPASSWORD", ""), Fail},
		"one less":            {got("HOME", ""), Fail},
		"the launcher's word": {got("HOME", "ok", "PATH", ""), Fail},
		"nothing":             {outcome{}, Fail},
		"not all":             {outcome{Got: got("HOME", "", "PATH", "").Got, Partial: true}, Fail},
	} {
		if result, detail := test.judgeEnvironment(c.said); result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
	}
}

func goodStatus() map[string]string {
	return got("CapInh", "0000", "CapPrm", "0000", "CapEff", "0000", "CapBnd", "0000", "CapAmb", "0000",
		"NoNewPrivs", "1", "Seccomp", "2", "Groups", "", "Uid", "1000 1000 1000 1000", "Gid", "1000 1000 1000 1000").Got
}

func TestJudgeStatus(t *testing.T) {
	kept := result.Result{}
	kept.Sandbox.Groups = []int{27}
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		result result.Result
		want   Result
	}{
		{"good", func(map[string]string) {}, result.Result{}, Pass},
		{"its own group", func(s map[string]string) { s["Groups"] = "1000" }, result.Result{}, Pass},
		{"a capability", func(s map[string]string) { s["CapBnd"] = "0020" }, result.Result{}, Fail},
		{"no capability line", func(s map[string]string) { delete(s, "CapAmb") }, result.Result{}, Fail},
		{"an empty one", func(s map[string]string) { s["CapEff"] = "" }, result.Result{}, Fail},
		{"new privileges", func(s map[string]string) { s["NoNewPrivs"] = "0" }, result.Result{}, Fail},
		{"no such line", func(s map[string]string) { delete(s, "NoNewPrivs") }, result.Result{}, Fail},
		{"strict mode", func(s map[string]string) { s["Seccomp"] = "1" }, result.Result{}, Fail},
		{"no filter", func(s map[string]string) { s["Seccomp"] = "0" }, result.Result{}, Fail},
		{"no groups told", func(s map[string]string) { delete(s, "Groups") }, result.Result{}, Fail},
		{"groups", func(s map[string]string) { s["Groups"] = "65534" }, result.Result{}, Fail},
		{"groups that the result has", func(s map[string]string) { s["Groups"] = "65534" }, kept, Accepted},
		{"groups and a capability", func(s map[string]string) { s["Groups"], s["CapEff"] = "65534", "1" }, kept, Fail},
	} {
		said := goodStatus()
		c.change(said)
		test := &test{main: c.result}
		if result, detail := test.judgeStatus(outcome{Got: said}); result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
	if result, _ := (&test{}).judgeStatus(outcome{}); result != Fail {
		t.Errorf("nothing: %s", result)
	}
}

// strainedBy is a run that ended for the reason, with the outcomes, and whose limits one word held.
func strainedBy(by string, reason result.Reason, outcomes ...outcome) strained {
	s := strained{asked: spec.Analysis{Memory: 64 * spec.MiB, Pids: 40, CPUs: 0.2, LogSize: spec.KiB, WorkSize: 16 * spec.MiB, WorkFiles: 100, Timeout: 2e9, Grace: 1e8}, outcomes: outcomes}
	s.result.State, s.result.Reason = "failed", reason
	for _, limit := range []string{"memory", "pids", "cpus", "work_size", "work_files"} {
		s.result.Enforced = append(s.result.Enforced, result.Enforcement{Limit: limit, By: by})
	}
	return s
}

func (s strained) with(change func(*result.Result)) strained { change(&s.result); return s }

func counted(o outcome, n int64) outcome { o.Count = n; return o }

// The kernel's counter is taken where there is one: what the canary says of itself is then worth nothing.
func TestJudgeLimits(t *testing.T) {
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
		judge func(strained) (Result, string)
		run   strained
		want  Result
	}{
		{"memory: killed", judgeMemory, strainedBy("cgroup", "out_of_memory").with(killed), Pass},
		{"memory: killed, says the canary", judgeMemory, strainedBy("cgroup", "exit", got("take", "ENOMEM")), Fail},
		{"memory: said without a counter", judgeMemory, strainedBy("cgroup", "out_of_memory"), Fail},
		{"memory: a 137 without a counter", judgeMemory, strainedBy("cgroup", "signal"), Fail},
		{"memory: took all", judgeMemory, strainedBy("cgroup", "exit", counted(got("take", "ok"), 96<<20)), Fail},
		{"memory: refused", judgeMemory, strainedBy("rlimit", "exit", counted(got("take", "ENOMEM"), 40<<20)), Pass},
		{"memory: refused too late", judgeMemory, strainedBy("rlimit", "exit", counted(got("take", "ENOMEM"), 80<<20)), Fail},
		{"memory: not refused", judgeMemory, strainedBy("rlimit", "exit", counted(got("take", "ok"), 96<<20)), Fail},
		{"memory: not told", judgeMemory, strainedBy("rlimit", "signal"), Fail},

		{"pids: denied", judgePids, strainedBy("cgroup", "pids_limit").with(denied(40)), Pass},
		{"pids: denied above the limit", judgePids, strainedBy("cgroup", "pids_limit").with(denied(41)), Fail},
		{"pids: denied, says the canary", judgePids, strainedBy("cgroup", "exit", counted(got("fork", "EAGAIN"), 30)), Fail},
		{"pids: refused", judgePids, strainedBy("rlimit", "exit", counted(got("fork", "EAGAIN"), 30)), Pass},
		{"pids: refused too late", judgePids, strainedBy("rlimit", "exit", counted(got("fork", "EAGAIN"), 41)), Fail},
		{"pids: all made", judgePids, strainedBy("rlimit", "exit", counted(got("fork", "ok"), 41)), Fail},
		{"pids: not told", judgePids, strainedBy("rlimit", "signal"), Fail},

		{"cpus: held", judgeCPUs, strainedBy("cgroup", "exit").with(used(1100, 240, 900)), Pass},
		{"cpus: not held", judgeCPUs, strainedBy("cgroup", "exit").with(used(1100, 1900, 900)), Fail},
		{"cpus: ended early", judgeCPUs, strainedBy("cgroup", "signal").with(used(10, 2, 1)), Fail},
		{"cpus: held, and not counted", judgeCPUs, strainedBy("cgroup", "exit").with(used(1010, 202, 0)), Pass},
		{"cpus: used nothing", judgeCPUs, strainedBy("cgroup", "exit").with(used(1100, 0, 900)), Fail},
		{"cpus: not counted", judgeCPUs, strainedBy("cgroup", "exit").with(used(1100, 0, 0)), Fail},
		{"cpus: counted, and not held", judgeCPUs, strainedBy("cgroup", "exit").with(func(r *result.Result) {
			r.Usage.WallMS, r.Usage.CPUMS, r.Evidence.Periods = 1010, 202, 10
		}), Inconclusive},
		{"cpus: a busy host", judgeCPUs, strainedBy("cgroup", "exit").with(used(1100, 90, 0)), Inconclusive},

		{"work: ended", judgeWorkSize, strainedBy("watchdog", "work_full").with(seen(17<<20, 5)), Pass},
		{"work: ended for its names", judgeWorkSize, strainedBy("watchdog", "work_full").with(seen(5, 101)), Fail},
		{"work: said without figures", judgeWorkSize, strainedBy("watchdog", "work_full"), Fail},
		{"work: not ended", judgeWorkSize, strainedBy("watchdog", "exit", counted(got("write", "ok"), 128)), Fail},
		{"work: refused, and not by a tmpfs", judgeWorkSize, strainedBy("watchdog", "exit", counted(got("write", "ENOSPC"), 60)), Fail},
		{"work: refused", judgeWorkSize, strainedBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 64)), Pass},
		{"work: refused too late", judgeWorkSize, strainedBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 65)), Fail},
		{"work: refused at once", judgeWorkSize, strainedBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 0)), Fail},
		{"work: not refused", judgeWorkSize, strainedBy("tmpfs", "exit", counted(got("write", "ok"), 128)), Fail},

		{"names: ended", judgeWorkFiles, strainedBy("watchdog", "work_full").with(seen(5, 101)), Pass},
		{"names: ended for its bytes", judgeWorkFiles, strainedBy("watchdog", "work_full").with(seen(17<<20, 5)), Fail},
		{"names: not ended", judgeWorkFiles, strainedBy("watchdog", "exit", counted(got("write", "ok"), 200)), Fail},
		{"names: refused", judgeWorkFiles, strainedBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 99)), Pass},
		{"names: refused too late", judgeWorkFiles, strainedBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 101)), Fail},
		{"names: not refused", judgeWorkFiles, strainedBy("tmpfs", "exit", counted(got("write", "ok"), 200)), Fail},

		{"tmp: full", judgeTmp, strainedBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 32<<20)), Pass},
		{"tmp: fuller", judgeTmp, strainedBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 33<<20)), Fail},
		{"tmp: never full", judgeTmp, strainedBy("tmpfs", "timeout", counted(got("write", "ok"), 64<<20)), Fail},
		{"tmp: full at once", judgeTmp, strainedBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 0)), Fail},
		{"tmp: not told", judgeTmp, strainedBy("tmpfs", "timeout"), Fail},

		{"log: cut", judgeLogs, strainedBy("watchdog", "timeout").with(logged(2048, true)), Pass},
		{"log: whole", judgeLogs, strainedBy("watchdog", "timeout").with(logged(2048, false)), Fail},
		{"log: too little", judgeLogs, strainedBy("watchdog", "timeout").with(logged(100, true)), Fail},

		{"timeout: ended", judgeTimeout, strainedBy("watchdog", "timeout").with(used(2200, 0, 0)), Pass},
		{"timeout: late", judgeTimeout, strainedBy("watchdog", "timeout").with(used(9000, 0, 0)), Fail},
		{"timeout: ended by itself", judgeTimeout, strainedBy("watchdog", "exit").with(used(2200, 0, 0)), Fail},
	} {
		if result, detail := c.judge(c.run); result != c.want || detail == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
}

func TestUnheld(t *testing.T) {
	for limits, want := range map[string]Result{spec.LimitsEnforce: Fail, spec.LimitsBestEffort: Accepted, "": Fail} {
		test := &test{view: view{analysis: spec.Analysis{Limits: limits}}}
		if c := test.unheld(result.Enforcement{Limit: "cpus", Asked: "1", By: "none"}); c.Result != want {
			t.Errorf("--limits %q: %+v, want %s", limits, c, want)
		}
	}
}
