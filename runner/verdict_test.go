package runner

import (
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
)

// exited and signaled are wait statuses as wait(2) encodes them.
func exited(code int) sandbox.Exit {
	return sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(code << 8)}
}

func signaled(sig syscall.Signal) sandbox.Exit {
	return sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(sig)}
}

func TestJudge(t *testing.T) {
	killedFromOutside := sandbox.Exit{Executed: true}
	timedOut := sandbox.Exit{Executed: true, TimedOut: true}
	stop := &StopSignal{ExitCode: 143, Name: "SIGTERM"}
	oom := Evidence{OOMKills: 1}
	for name, c := range map[string]struct {
		ending ending
		state  catalog.State
		reason Reason
		code   int
		signal string
	}{
		"success":                        {ending{exit: exited(0)}, catalog.Complete, ReasonExit, 0, ""},
		"own code":                       {ending{exit: exited(3)}, catalog.Failed, ReasonExit, 3, ""},
		"exit 137 is no out of memory":   {ending{exit: exited(137)}, catalog.Failed, ReasonExit, 137, ""},
		"abort":                          {ending{exit: signaled(unix.SIGABRT)}, catalog.Failed, ReasonSignal, 134, "SIGABRT"},
		"segmentation fault, dumped":     {ending{exit: sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(0x80 | int(unix.SIGSEGV))}}, catalog.Failed, ReasonSignal, 139, "SIGSEGV"},
		"SIGKILL to itself":              {ending{exit: signaled(unix.SIGKILL)}, catalog.Failed, ReasonSignal, 137, "SIGKILL"},
		"killed from outside":            {ending{exit: killedFromOutside}, catalog.Failed, ReasonSignal, 137, "SIGKILL"},
		"out of memory":                  {ending{exit: killedFromOutside, evidence: oom}, catalog.Failed, ReasonOutOfMemory, 137, "SIGKILL"},
		"a child out of memory, exit 1":  {ending{exit: exited(1), evidence: oom}, catalog.Failed, ReasonOutOfMemory, 137, ""},
		"a child out of memory, exit 0":  {ending{exit: exited(0), evidence: oom}, catalog.Complete, ReasonExit, 0, ""},
		"timeout":                        {ending{exit: timedOut}, catalog.Failed, ReasonTimeout, 124, "SIGKILL"},
		"timeout wins over memory":       {ending{exit: timedOut, evidence: oom}, catalog.Failed, ReasonTimeout, 124, "SIGKILL"},
		"stopped":                        {ending{exit: killedFromOutside, stopped: stop}, catalog.Canceled, ReasonStopped, 143, "SIGKILL"},
		"stopped wins over timeout":      {ending{exit: timedOut, stopped: stop}, catalog.Canceled, ReasonStopped, 143, "SIGKILL"},
		"stopped wins over a clean exit": {ending{exit: exited(0), stopped: stop}, catalog.Canceled, ReasonStopped, 143, ""},
		"pids limit":                     {ending{exit: exited(1), evidence: Evidence{PidsDenied: 7}}, catalog.Failed, ReasonPidsLimit, 1, ""},
		"pids denied, exit 0":            {ending{exit: exited(0), evidence: Evidence{PidsDenied: 7}}, catalog.Complete, ReasonExit, 0, ""},
		"not found":                      {ending{exit: sandbox.Exit{Errno: unix.ENOENT}}, catalog.Failed, ReasonNotFound, 127, ""},
		"not executable":                 {ending{exit: sandbox.Exit{Errno: unix.EACCES}}, catalog.Failed, ReasonNotInvocable, 126, ""},
		"unknown format":                 {ending{exit: sandbox.Exit{Errno: unix.ENOEXEC}}, catalog.Failed, ReasonNotInvocable, 126, ""},
		"never started":                  {ending{}, catalog.Error, ReasonSandbox, 125, ""},
		"declared output missing":        {ending{exit: exited(0), missing: []string{"*.csv"}}, catalog.Failed, ReasonOutputMissing, 1, ""},
		"a bad exit wins over missing":   {ending{exit: exited(2), missing: []string{"*.csv"}}, catalog.Failed, ReasonExit, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.ending.timeout, c.ending.memory, c.ending.pids, c.ending.command = time.Minute, 1<<20, 10, "x"
			v := judge(c.ending)
			if v.state != c.state || v.reason != c.reason || v.exitCode != c.code || v.signal != c.signal {
				t.Errorf("got %+v", v)
			}
			if v.message == "" {
				t.Error("no message")
			}
		})
	}
}

// TestMissingIsQuoted: a pattern is anybody's text.
func TestMissingIsQuoted(t *testing.T) {
	v := judge(ending{exit: exited(0), missing: []string{"a, b", "\x1b[2J*"}})
	if want := `nothing in /work matches the declared output "a, b", "\x1b[2J*"`; v.message != want {
		t.Errorf("%s, want %s", v.message, want)
	}
}
