package e2e

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// ending is one way for an analysis to end.
type ending struct {
	args   []string // of run, behind --id
	state  string
	reason string
	code   int
	signal string
	check  func(t *testing.T, r result)
}

const (
	// hog wants 512 MiB of anonymous memory and touches all of it.
	hog = `python3 -c 'print("hog"); x = b"x" * (512 << 20)'`
	// never is a grace period that no test waits for: a run that needs it hangs, and the test fails.
	never = "--grace=1h"
)

func shell(script string) []string { return []string{"--", "sh", "-c", script} }

func flags(given ...string) []string { return given }

var endings = map[string]ending{
	"success": {args: shell("echo done >done.txt"), state: "complete", reason: "exit", check: outputsAre("done.txt")},
	"many entries": {
		args:  shell("mkdir d; touch a d/x d.txt z; ln -s /etc/passwd link; mkfifo d/pipe"),
		state: "complete", reason: "exit", check: outputsAre("a", "d.txt", "d/x", "z"),
	},
	"exit 3":    {args: shell("echo x >x.txt; exit 3"), state: "failed", reason: "exit", code: 3, check: outputsAre("x.txt")},
	"exit 1":    {args: shell("exit 1"), state: "failed", reason: "exit", code: 1},
	"exit 255":  {args: shell("exit 255"), state: "failed", reason: "exit", code: 255},
	"exception": {args: flags("--", "python3", "-c", "1/0"), state: "failed", reason: "exit", code: 1},

	// Codes that scidex-oci uses itself pass through; the reason distinguishes them.
	"exit 124": {args: shell("exit 124"), state: "failed", reason: "exit", code: 124},
	"exit 125": {args: shell("exit 125"), state: "failed", reason: "exit", code: 125},
	"exit 126": {args: shell("exit 126"), state: "failed", reason: "exit", code: 126},
	"exit 127": {args: shell("exit 127"), state: "failed", reason: "exit", code: 127},
	"exit 137": {args: shell("exit 137"), state: "failed", reason: "exit", code: 137, check: notOutOfMemory},
	"exit 143": {args: shell("exit 143"), state: "failed", reason: "exit", code: 143},

	"abort": {args: flags("--", "python3", "-c", "import os; os.abort()"), state: "failed", reason: "signal", code: 134, signal: "SIGABRT"},
	"segmentation fault": {
		args:  flags("--", "python3", "-c", "import ctypes; ctypes.string_at(0)"),
		state: "failed", reason: "signal", code: 139, signal: "SIGSEGV",
	},
	"SIGSEGV to itself": {args: shell("kill -SEGV $$"), state: "failed", reason: "signal", code: 139, signal: "SIGSEGV"},
	"SIGTERM to itself": {args: shell("kill -TERM $$"), state: "failed", reason: "signal", code: 143, signal: "SIGTERM"},
	"SIGKILL to itself": {args: shell("kill -KILL $$"), state: "failed", reason: "signal", code: 137, signal: "SIGKILL", check: notOutOfMemory},
	"SIGINT to itself":  {args: shell("kill -INT $$"), state: "failed", reason: "signal", code: 130, signal: "SIGINT"},
	"SIGPIPE to itself": {args: shell("kill -PIPE $$"), state: "failed", reason: "signal", code: 141, signal: "SIGPIPE"},
	// Every signal is aimed at every process there is; PID 1, which is not the analysis, stays.
	"SIGKILL to everyone": {args: shell("kill -KILL -1; exit 7"), state: "failed", reason: "exit", code: 7},
	"SIGTERM to the init": {args: shell("kill -TERM 1; exit 0"), state: "complete", reason: "exit"},

	"missing command":             {args: flags("--", "no-such-command"), state: "failed", reason: "not_found", code: 127},
	"missing path":                {args: flags("--", "/nowhere/at/all"), state: "failed", reason: "not_found", code: 127},
	"missing interpreter":         {args: flags("--data=tools", "--", "/data/orphan"), state: "failed", reason: "not_found", code: 127},
	"not executable":              {args: flags("--data=tools", "--", "/data/plain"), state: "failed", reason: "not_invocable", code: 126},
	"without a known format":      {args: flags("--data=tools", "--", "/data/garbage"), state: "failed", reason: "not_invocable", code: 126},
	"a directory for a command":   {args: flags("--", "/usr"), state: "failed", reason: "not_invocable", code: 126},
	"executable":                  {args: flags("--data=tools", "--", "/data/good"), state: "complete", reason: "exit"},
	"script with shebang":         {args: flags("--script=tools/good"), state: "complete", reason: "exit"},
	"script whose program is not": {args: flags("--script=tools/orphan"), state: "failed", reason: "not_found", code: 127},

	"declared output": {args: append(flags("--output=*.csv"), shell("touch a.csv")...), state: "complete", reason: "exit"},
	"missing declared output": {
		args:  append(flags("--output=*.csv", "--output=*.txt"), shell("touch other.txt")...),
		state: "failed", reason: "output_missing", code: 1,
		check: func(t *testing.T, r result) {
			outputsAre("other.txt")(t, r)
			if !strings.Contains(r.Message, "*.csv") || strings.Contains(r.Message, "*.txt") {
				t.Errorf("message %q names not just the glob that matched nothing", r.Message)
			}
		},
	},
	"a link is no declared output": {
		args:  append(flags("--output=a.csv"), shell("ln -s /etc/passwd a.csv")...),
		state: "failed", reason: "output_missing", code: 1,
	},
	"missing declared output after a bad exit": {
		args:  append(flags("--output=*.csv"), shell("touch other.txt; exit 3")...),
		state: "failed", reason: "exit", code: 3, check: outputsAre("other.txt"),
	},

	// With an hour of grace, a run that SIGTERM does not end hangs.
	"timeout": {
		args:  append(flags("--timeout=2s", never), shell("echo x >x.txt; sleep 10000")...),
		state: "failed", reason: "timeout", code: 124, signal: "SIGTERM", check: outputsAre("x.txt"),
	},
	"timeout of several processes": {
		args:  append(flags("--timeout=2s", never), shell("sleep 10000 & sleep 10000 & wait")...),
		state: "failed", reason: "timeout", code: 124, signal: "SIGTERM",
	},
	"timeout with a last word": {
		args:  append(flags("--timeout=2s", never), shell(`trap 'echo bye >bye.txt; exit 0' TERM; sleep 10000 & wait`)...),
		state: "failed", reason: "timeout", code: 124, check: outputsAre("bye.txt"),
	},
	"timeout with SIGTERM ignored": {
		args:  append(flags("--timeout=2s", "--grace=200ms"), shell(`trap '' TERM; while :; do sleep 10000; done`)...),
		state: "failed", reason: "timeout", code: 124, signal: "SIGKILL",
	},
	"timeout with a daemon that ignores SIGTERM": {
		args:  flags("--timeout=3s", never, "--data=tools", "--", "python3", "/data/daemon.py", "wait"),
		state: "failed", reason: "timeout", code: 124, signal: "SIGTERM", check: daemonWasThere,
	},
	// The daemon holds standard output open; neither that nor itself outlives the analysis.
	"a daemon that stays": {
		args:  flags("--timeout=1h", never, "--data=tools", "--", "python3", "/data/daemon.py", "go"),
		state: "complete", reason: "exit", check: daemonWasThere,
	},
}

// daemon.py starts a daemon as daemon(7) has it (two forks, a session of its own) that ignores every
// signal it can and keeps standard output, waits until the daemon is there, and goes or waits itself.
const daemonScript = `
import os, signal, sys, time
read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() > 0:
        os._exit(0)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    print("daemon", os.getppid(), flush=True)
    os.write(write, b"x")
    while True:
        time.sleep(1000)
os.read(read, 1)
open("daemon-is-there", "w").close()
if sys.argv[1] == "wait":
    time.sleep(10000)
`

func TestEndings(t *testing.T) {
	for name, e := range endings {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e.run(t)
		})
	}
}

func (e ending) run(t *testing.T) {
	h := newHarness(t)
	h.write("tools/plain", "#!/bin/sh\n", 0o644)
	h.write("tools/garbage", "\x00\x01\x02 no format that the kernel knows\n", 0o755)
	h.write("tools/orphan", "#!/nowhere/interpreter\n", 0o755)
	h.write("tools/good", "#!/bin/sh\nexit 0\n", 0o755)
	h.write("tools/daemon.py", daemonScript, 0o644)
	id := h.id("end")
	r := h.start(append([]string{"--id", id}, e.args...)...)
	// The promise is about the moment of return.
	if left := processesOf(h.run); len(left) > 0 {
		t.Errorf("when the command returned there was still %q", left)
	}
	r.expect(t, e.state, e.reason, e.code)
	if signal := text(r.Signal); signal != e.signal {
		t.Errorf("signal %q, want %q (%s)", signal, e.signal, r.Message)
	}
	if e.check != nil {
		e.check(t, r)
	}
	if shown := h.show(id); !reflect.DeepEqual(shown, r) {
		t.Errorf("show --json differs from run --json:\n%+v\n%+v", shown, r)
	}
	if again := h.do(append([]string{"run", "--id", h.id("plain")}, e.args...)...); again.code != e.code {
		t.Errorf("without --json the exit code is %d, want %d", again.code, e.code)
	} else if !strings.Contains(again.stderr, e.state) {
		t.Errorf("the closing table does not say %q:\n%s", e.state, again.stderr)
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func outputsAre(paths ...string) func(*testing.T, result) {
	return func(t *testing.T, r result) {
		t.Helper()
		if !slices.Equal(r.paths(), paths) {
			t.Errorf("outputs %q, want %q; rejected %+v", r.paths(), paths, r.Rejected)
		}
	}
}

func notOutOfMemory(t *testing.T, r result) {
	t.Helper()
	if r.Evidence.OOMKills != 0 || strings.Contains(r.Message, "memory") {
		t.Errorf("evidence %+v, message %q", r.Evidence, r.Message)
	}
}

func daemonWasThere(t *testing.T, r result) {
	t.Helper()
	outputsAre("daemon-is-there")(t, r)
	if r.Logs.Stdout.Bytes == 0 {
		t.Error("the daemon did not hold standard output")
	}
}

// Files of a run that was ended may be half written, those of one that ended by itself are not.
func TestPartial(t *testing.T) {
	for name, partial := range map[string]bool{"sleep 10000": true, "exit 3": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t)
			r := h.start(append(flags("--id", h.id("p"), "--timeout=2s"), shell("echo x >x.txt; "+name)...)...)
			if o := r.output("x.txt"); o.Size != 2 || o.Partial != partial {
				t.Errorf("%+v, want partial: %v", o, partial)
			}
		})
	}
}
