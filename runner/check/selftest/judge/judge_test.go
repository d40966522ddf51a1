package judge

import (
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/spec"
)

func got(pairs ...string) canary.Outcome {
	o := canary.Outcome{Got: map[string]string{}}
	for i := 0; i+1 < len(pairs); i += 2 {
		o.Got[pairs[i]] = pairs[i+1]
	}
	return o
}

// Everything that is not the expected refusal is a failure, or proves nothing.
func TestRefused(t *testing.T) {
	judge := Refused([]string{"create", "chmod"}, canary.Unwritable...)
	for _, c := range []struct {
		name string
		said canary.Outcome
		want Result
	}{
		{"both refused", got("create", "EROFS", "chmod", "EPERM"), Pass},
		{"one reached", got("create", "ok", "chmod", "EPERM"), Fail},
		{"one missing", got("create", "EROFS"), Fail},
		{"one more", got("create", "EROFS", "chmod", "EPERM", "mkdir", "EROFS"), Fail},
		{"another in its place", got("create", "EROFS", "mkdir", "EROFS"), Fail},
		{"empty", canary.Outcome{}, Fail},
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

func TestHostClosed(t *testing.T) {
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
		{"10.0.0.1", "ECONNREFUSED", Fail}, // something refused it
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
		if result, _ := Refused([]string{"connect"}, HostClosed(c.host)...)(got("connect", c.said)); result != c.want {
			t.Errorf("%s %s: %s, want %s", c.host, c.said, result, c.want)
		}
	}
}

func TestNothingCreated(t *testing.T) {
	for name, c := range map[string]struct {
		said canary.Outcome
		want Result
	}{
		"all closed": {canary.Outcome{Count: 9}, Pass},
		"one open":   {canary.Outcome{Count: 9, Got: map[string]string{"/etc": "ok"}}, Fail},
		"one odd":    {canary.Outcome{Count: 9, Got: map[string]string{"/etc": "ENOSPC"}}, Fail},
		"none tried": {canary.Outcome{}, Fail},
		"not all":    {canary.Outcome{Count: 9, Partial: true}, Inconclusive},
		"both":       {canary.Outcome{Count: 9, Partial: true, Got: map[string]string{"/etc": "ok"}}, Fail},
	} {
		result, detail := NothingCreated(c.said)
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
		"no more than told":     {canary.Outcome{Got: got("self", "2", "1", "i", "2", "c").Got, Partial: true}, Fail},
		"nothing":               {canary.Outcome{}, Fail},
		"itself without a name": {got("self", "2", "1", "scidex-init", "2", ""), Fail},
	} {
		if result, detail := Processes(c.said); result != c.want {
			t.Errorf("%s: %s (%s), want %s", name, result, detail, c.want)
		}
	}
}

func TestSignal(t *testing.T) {
	for said, want := range map[string]Result{
		"ESRCH": Pass, "EPERM": Pass, "own": Pass, "ok": Fail, "": Fail, "EINVAL": Fail, "error": Inconclusive,
	} {
		if result, detail := Signal(got("kill", said)); result != want {
			t.Errorf("%q: %s (%s), want %s", said, result, detail, want)
		}
	}
	if result, _ := Signal(canary.Outcome{}); result != Fail {
		t.Errorf("nothing: %s", result)
	}
}

func TestEnvironment(t *testing.T) {
	judge := Environment([]string{"HOME", "PATH"})
	for name, c := range map[string]struct {
		said canary.Outcome
		want Result
	}{
		"as given":            {got("HOME", "", "PATH", ""), Pass},
		"one more":            {got("HOME", "", "PATH", "", "PGPASSWORD", ""), Fail},
		"one less":            {got("HOME", ""), Fail},
		"the launcher's word": {got("HOME", "ok", "PATH", ""), Fail},
		"nothing":             {canary.Outcome{}, Fail},
		"not all":             {canary.Outcome{Got: got("HOME", "", "PATH", "").Got, Partial: true}, Fail},
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
		want   Result
	}{
		{"good", func(map[string]string) {}, nil, Pass},
		{"its own group", func(s map[string]string) { s["Groups"] = "1000" }, nil, Pass},
		{"a capability", func(s map[string]string) { s["CapBnd"] = "0020" }, nil, Fail},
		{"no capability line", func(s map[string]string) { delete(s, "CapAmb") }, nil, Fail},
		{"an empty one", func(s map[string]string) { s["CapEff"] = "" }, nil, Fail},
		{"new privileges", func(s map[string]string) { s["NoNewPrivs"] = "0" }, nil, Fail},
		{"no such line", func(s map[string]string) { delete(s, "NoNewPrivs") }, nil, Fail},
		{"strict mode", func(s map[string]string) { s["Seccomp"] = "1" }, nil, Fail},
		{"no filter", func(s map[string]string) { s["Seccomp"] = "0" }, nil, Fail},
		{"no groups told", func(s map[string]string) { delete(s, "Groups") }, nil, Fail},
		{"groups", func(s map[string]string) { s["Groups"] = "65534" }, nil, Fail},
		{"groups that the result has", func(s map[string]string) { s["Groups"] = "65534" }, kept, Accepted},
		{"groups and a capability", func(s map[string]string) { s["Groups"], s["CapEff"] = "65534", "1" }, kept, Fail},
	} {
		said := goodStatus()
		c.change(said)
		judge := Status(func() []int { return c.groups })
		if result, detail := judge(canary.Outcome{Got: said}); result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
	if result, _ := Status(func() []int { return nil })(canary.Outcome{}); result != Fail {
		t.Errorf("nothing: %s", result)
	}
}

func TestLandlock(t *testing.T) {
	for _, c := range []struct {
		held, had int
		init      string
		want      Result
	}{
		{7, 7, "EPERM", Pass},
		{7, 7, canary.OK, Fail},
		{7, 7, "", Fail},
		{0, 7, "EPERM", Fail},
		{2, 2, canary.OK, Pass},
		{0, 0, canary.OK, Pass},
		{2, 0, canary.OK, Fail},
	} {
		result, detail := Landlock(func() int { return c.held }, c.had)(canary.Outcome{Got: map[string]string{"init": c.init}})
		if result != c.want {
			t.Errorf("%+v: %s (%s)", c, result, detail)
		}
	}
}

// loadHeldBy is a run that ended for the reason, with the outcomes, and whose limits one word held.
func loadHeldBy(by string, reason result.Reason, outcomes ...canary.Outcome) Load {
	s := Load{Asked: spec.Analysis{Memory: 64 * spec.MiB, Pids: 40, CPUs: 0.2, LogSize: spec.KiB, WorkSize: 16 * spec.MiB, WorkFiles: 100, Timeout: 2e9, Grace: 1e8}, Outcomes: outcomes}
	s.Result.State, s.Result.Reason = "failed", reason
	for _, limit := range []string{"memory", "pids", "cpus", "work_size", "work_files"} {
		s.Result.Enforced = append(s.Result.Enforced, result.Enforcement{Limit: limit, By: by})
	}
	return s
}

func (s Load) with(change func(*result.Result)) Load { change(&s.Result); return s }

func counted(o canary.Outcome, n int64) canary.Outcome { o.Count = n; return o }

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
		judge func(Load) (Result, string)
		run   Load
		want  Result
	}{
		{"memory: killed", Memory, loadHeldBy("cgroup", "out_of_memory").with(killed), Pass},
		{"memory: killed, says the canary", Memory, loadHeldBy("cgroup", "exit", got("take", "ENOMEM")), Fail},
		{"memory: said without a counter", Memory, loadHeldBy("cgroup", "out_of_memory"), Fail},
		{"memory: a 137 without a counter", Memory, loadHeldBy("cgroup", "signal"), Fail},
		{"memory: took all", Memory, loadHeldBy("cgroup", "exit", counted(got("take", "ok"), 96<<20)), Fail},
		{"memory: refused", Memory, loadHeldBy("rlimit", "exit", counted(got("take", "ENOMEM"), 40<<20)), Pass},
		{"memory: refused too late", Memory, loadHeldBy("rlimit", "exit", counted(got("take", "ENOMEM"), 80<<20)), Fail},
		{"memory: not refused", Memory, loadHeldBy("rlimit", "exit", counted(got("take", "ok"), 96<<20)), Fail},
		{"memory: not told", Memory, loadHeldBy("rlimit", "signal"), Fail},

		{"pids: denied", Pids, loadHeldBy("cgroup", "pids_limit").with(denied(40)), Pass},
		{"pids: denied above the limit", Pids, loadHeldBy("cgroup", "pids_limit").with(denied(41)), Fail},
		{"pids: denied, says the canary", Pids, loadHeldBy("cgroup", "exit", counted(got("fork", "EAGAIN"), 30)), Fail},
		{"pids: refused", Pids, loadHeldBy("rlimit", "exit", counted(got("fork", "EAGAIN"), 30)), Pass},
		{"pids: refused too late", Pids, loadHeldBy("rlimit", "exit", counted(got("fork", "EAGAIN"), 41)), Fail},
		{"pids: all made", Pids, loadHeldBy("rlimit", "exit", counted(got("fork", "ok"), 41)), Fail},
		{"pids: not told", Pids, loadHeldBy("rlimit", "signal"), Fail},

		{"cpus: held", CPUs, loadHeldBy("cgroup", "exit").with(used(1100, 240, 900)), Pass},
		{"cpus: not held", CPUs, loadHeldBy("cgroup", "exit").with(used(1100, 1900, 900)), Fail},
		{"cpus: ended early", CPUs, loadHeldBy("cgroup", "signal").with(used(10, 2, 1)), Fail},
		{"cpus: held, and not counted", CPUs, loadHeldBy("cgroup", "exit").with(used(1010, 202, 0)), Pass},
		{"cpus: used nothing", CPUs, loadHeldBy("cgroup", "exit").with(used(1100, 0, 900)), Fail},
		{"cpus: not counted", CPUs, loadHeldBy("cgroup", "exit").with(used(1100, 0, 0)), Fail},
		{"cpus: counted, and not held", CPUs, loadHeldBy("cgroup", "exit").with(func(r *result.Result) {
			r.Usage.WallMS, r.Usage.CPUMS, r.Evidence.Periods = 1010, 202, 10
		}), Inconclusive},
		{"cpus: a busy host", CPUs, loadHeldBy("cgroup", "exit").with(used(1100, 90, 0)), Inconclusive},

		{"work: ended", WorkSize, loadHeldBy("watchdog", "work_full").with(seen(17<<20, 5)), Pass},
		{"work: ended for its names", WorkSize, loadHeldBy("watchdog", "work_full").with(seen(5, 101)), Fail},
		{"work: said without figures", WorkSize, loadHeldBy("watchdog", "work_full"), Fail},
		{"work: not ended", WorkSize, loadHeldBy("watchdog", "exit", counted(got("write", "ok"), 128)), Fail},
		{"work: refused, and not by a tmpfs", WorkSize, loadHeldBy("watchdog", "exit", counted(got("write", "ENOSPC"), 60)), Fail},
		{"work: refused", WorkSize, loadHeldBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 64)), Pass},
		{"work: refused too late", WorkSize, loadHeldBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 65)), Fail},
		{"work: refused at once", WorkSize, loadHeldBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 0)), Fail},
		{"work: not refused", WorkSize, loadHeldBy("tmpfs", "exit", counted(got("write", "ok"), 128)), Fail},

		{"names: ended", WorkFiles, loadHeldBy("watchdog", "work_full").with(seen(5, 101)), Pass},
		{"names: ended for its bytes", WorkFiles, loadHeldBy("watchdog", "work_full").with(seen(17<<20, 5)), Fail},
		{"names: not ended", WorkFiles, loadHeldBy("watchdog", "exit", counted(got("write", "ok"), 200)), Fail},
		{"names: refused", WorkFiles, loadHeldBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 99)), Pass},
		{"names: refused too late", WorkFiles, loadHeldBy("tmpfs", "exit", counted(got("write", "ENOSPC"), 101)), Fail},
		{"names: not refused", WorkFiles, loadHeldBy("tmpfs", "exit", counted(got("write", "ok"), 200)), Fail},

		{"tmp: full", Tmp, loadHeldBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 32<<20)), Pass},
		{"tmp: fuller", Tmp, loadHeldBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 33<<20)), Fail},
		{"tmp: never full", Tmp, loadHeldBy("tmpfs", "timeout", counted(got("write", "ok"), 64<<20)), Fail},
		{"tmp: full at once", Tmp, loadHeldBy("tmpfs", "timeout", counted(got("write", "ENOSPC"), 0)), Fail},
		{"tmp: not told", Tmp, loadHeldBy("tmpfs", "timeout"), Fail},

		{"log: cut", Logs, loadHeldBy("watchdog", "timeout").with(logged(2048, true)), Pass},
		{"log: whole", Logs, loadHeldBy("watchdog", "timeout").with(logged(2048, false)), Fail},
		{"log: too little", Logs, loadHeldBy("watchdog", "timeout").with(logged(100, true)), Fail},

		{"timeout: ended", Timeout, loadHeldBy("watchdog", "timeout").with(used(2200, 0, 0)), Pass},
		{"timeout: late", Timeout, loadHeldBy("watchdog", "timeout").with(used(9000, 0, 0)), Fail},
		{"timeout: ended by itself", Timeout, loadHeldBy("watchdog", "exit").with(used(2200, 0, 0)), Fail},
	} {
		if result, detail := c.judge(c.run); result != c.want || detail == "" {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
	}
}
