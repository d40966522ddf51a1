package runner

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
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
	oom := result.Evidence{OOMKills: 1}
	// with adds what the watchdog found.
	with := func(exit sandbox.Exit, full *outputs.Extent, short *sandbox.Shortage) sandbox.Exit {
		exit.WorkFull, exit.HostFull = full, short
		return exit
	}
	noSpace := func(exit sandbox.Exit) sandbox.Exit { exit.NoSpace = true; return exit }
	large, many, short := &outputs.Extent{Files: 1, Bytes: 11}, &outputs.Extent{Files: 11, Bytes: 1}, &sandbox.Shortage{Of: "/work", Free: 1, Floor: 2}
	for name, c := range map[string]struct {
		ending ending
		state  catalog.State
		reason result.Reason
		code   int
		signal string
	}{
		"success":                        {ending{exit: exited(0)}, catalog.Complete, result.ReasonExit, 0, ""},
		"own code":                       {ending{exit: exited(3)}, catalog.Failed, result.ReasonExit, 3, ""},
		"exit 137 is no out of memory":   {ending{exit: exited(137)}, catalog.Failed, result.ReasonExit, 137, ""},
		"abort":                          {ending{exit: signaled(unix.SIGABRT)}, catalog.Failed, result.ReasonSignal, 134, "SIGABRT"},
		"segmentation fault, dumped":     {ending{exit: sandbox.Exit{Executed: true, Ended: true, Status: syscall.WaitStatus(0x80 | int(unix.SIGSEGV))}}, catalog.Failed, result.ReasonSignal, 139, "SIGSEGV"},
		"SIGKILL to itself":              {ending{exit: signaled(unix.SIGKILL)}, catalog.Failed, result.ReasonSignal, 137, "SIGKILL"},
		"killed from outside":            {ending{exit: killedFromOutside}, catalog.Failed, result.ReasonSignal, 137, "SIGKILL"},
		"out of memory":                  {ending{exit: killedFromOutside, evidence: oom}, catalog.Failed, result.ReasonOutOfMemory, 137, "SIGKILL"},
		"a child out of memory, exit 1":  {ending{exit: exited(1), evidence: oom}, catalog.Failed, result.ReasonOutOfMemory, 137, ""},
		"a child out of memory, exit 0":  {ending{exit: exited(0), evidence: oom}, catalog.Complete, result.ReasonExit, 0, ""},
		"timeout":                        {ending{exit: timedOut}, catalog.Failed, result.ReasonTimeout, 124, "SIGKILL"},
		"timeout wins over memory":       {ending{exit: timedOut, evidence: oom}, catalog.Failed, result.ReasonTimeout, 124, "SIGKILL"},
		"stopped":                        {ending{exit: killedFromOutside, stopped: stop}, catalog.Canceled, result.ReasonStopped, 143, "SIGKILL"},
		"stopped wins over timeout":      {ending{exit: timedOut, stopped: stop}, catalog.Canceled, result.ReasonStopped, 143, "SIGKILL"},
		"stopped wins over a clean exit": {ending{exit: exited(0), stopped: stop}, catalog.Canceled, result.ReasonStopped, 143, ""},
		"pids limit":                     {ending{exit: exited(1), evidence: result.Evidence{PidsDenied: 7}}, catalog.Failed, result.ReasonPidsLimit, 1, ""},
		"pids denied, exit 0":            {ending{exit: exited(0), evidence: result.Evidence{PidsDenied: 7}}, catalog.Complete, result.ReasonExit, 0, ""},
		"too many bytes":                 {ending{exit: with(killedFromOutside, large, nil)}, catalog.Failed, result.ReasonWorkFull, 1, "SIGKILL"},
		"too many names":                 {ending{exit: with(killedFromOutside, many, nil)}, catalog.Failed, result.ReasonWorkFull, 1, "SIGKILL"},
		"full with a code of its own":    {ending{exit: with(exited(7), large, nil)}, catalog.Failed, result.ReasonWorkFull, 7, ""},
		"full and pleased with it":       {ending{exit: with(exited(0), large, nil)}, catalog.Failed, result.ReasonWorkFull, 1, ""},
		"SIGXFSZ at the bound":           {ending{exit: with(signaled(unix.SIGXFSZ), large, nil)}, catalog.Failed, result.ReasonWorkFull, 153, "SIGXFSZ"},
		"SIGXFSZ below the bound":        {ending{exit: signaled(unix.SIGXFSZ)}, catalog.Failed, result.ReasonSignal, 153, "SIGXFSZ"},
		"the host is full":               {ending{exit: with(killedFromOutside, nil, short)}, catalog.Failed, result.ReasonHostFull, 1, "SIGKILL"},
		"the host first":                 {ending{exit: with(killedFromOutside, large, short), evidence: oom}, catalog.Failed, result.ReasonHostFull, 1, "SIGKILL"},
		"full wins over memory":          {ending{exit: with(killedFromOutside, large, nil), evidence: oom}, catalog.Failed, result.ReasonWorkFull, 1, "SIGKILL"},
		"a timeout wins over full":       {ending{exit: with(timedOut, large, short)}, catalog.Failed, result.ReasonTimeout, 124, "SIGKILL"},
		"a stop wins over full":          {ending{exit: with(killedFromOutside, large, short), stopped: stop}, catalog.Canceled, result.ReasonStopped, 143, "SIGKILL"},
		"a full tmpfs":                   {ending{exit: noSpace(exited(3))}, catalog.Failed, result.ReasonWorkFull, 3, ""},
		"a full tmpfs, by a mapping":     {ending{exit: noSpace(signaled(unix.SIGBUS))}, catalog.Failed, result.ReasonWorkFull, 135, "SIGBUS"},
		"a full tmpfs, exit 0":           {ending{exit: noSpace(exited(0))}, catalog.Complete, result.ReasonExit, 0, ""},
		"not found":                      {ending{exit: sandbox.Exit{Errno: unix.ENOENT}}, catalog.Failed, result.ReasonNotFound, 127, ""},
		"not executable":                 {ending{exit: sandbox.Exit{Errno: unix.EACCES}}, catalog.Failed, result.ReasonNotInvocable, 126, ""},
		"unknown format":                 {ending{exit: sandbox.Exit{Errno: unix.ENOEXEC}}, catalog.Failed, result.ReasonNotInvocable, 126, ""},
		"never started":                  {ending{}, catalog.Error, result.ReasonSandbox, 125, ""},
		"declared output missing":        {ending{exit: exited(0), missing: []string{"*.csv"}}, catalog.Failed, result.ReasonOutputMissing, 1, ""},
		"a bad exit wins over missing":   {ending{exit: exited(2), missing: []string{"*.csv"}}, catalog.Failed, result.ReasonExit, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.ending.timeout, c.ending.memory, c.ending.pids, c.ending.command = time.Minute, 1<<20, 10, "x"
			c.ending.bound = outputs.Extent{Files: 10, Bytes: 10}
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

// Whose limit it was is said with the kernel's figures, and never with a limit that was not reached.
func TestOutOfMemorySays(t *testing.T) {
	for name, c := range map[string]struct {
		limit   *result.OOMLimit
		outer   bool
		peak    int64
		has     []string
		without []string
	}{
		"its own":          {&result.OOMLimit{By: result.OOMOwn, Bytes: 4096}, false, 4096, []string{"at the limit of 4096 bytes", "peak 4096 bytes", "oom_kill 3"}, []string{"around", "5000"}},
		"its own, no peak": {&result.OOMLimit{By: result.OOMOwn, Bytes: 4096}, false, 0, []string{"at the limit of 4096 bytes", "(oom_kill 3)"}, []string{"peak"}},
		"one around it":    {&result.OOMLimit{By: result.OOMOuter, Bytes: 2048}, false, 2000, []string{"2048 bytes of a control group around the run", "own limit of 5000 bytes was not reached", "peak 2000"}, nil},
		"outer":            {&result.OOMLimit{By: result.OOMOuter, Bytes: 2048}, true, 2000, []string{"2048 bytes of a control group around the run", "(oom_kill 3)"}, []string{"own limit", "peak"}},
		"either":           {&result.OOMLimit{By: result.OOMEither}, false, 5000, []string{"own limit of 5000 bytes or at that of a control group around it", "peak 5000"}, []string{"not reached"}},
		"nobody's":         {&result.OOMLimit{By: result.OOMUnknown}, false, 10, []string{"the host had no memory left", "own limit of 5000 bytes was not reached"}, nil},
		"not told":         {nil, true, 10, []string{"no limit that can be told"}, []string{"5000"}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge(ending{
				exit: signaled(unix.SIGKILL), evidence: result.Evidence{OOMKills: 3, OOMLimit: c.limit},
				memory: 5000, outer: c.outer, usage: result.Usage{MemoryPeakBytes: c.peak},
			})
			if v.reason != result.ReasonOutOfMemory {
				t.Fatalf("%+v", v)
			}
			for _, word := range c.has {
				if !strings.Contains(v.message, word) {
					t.Errorf("no %q in %q", word, v.message)
				}
			}
			for _, word := range c.without {
				if strings.Contains(v.message, word) {
					t.Errorf("%q in %q", word, v.message)
				}
			}
		})
	}
}

func TestOutOfPidsSays(t *testing.T) {
	for name, c := range map[string]struct {
		peak  int64
		outer bool
		want  string
	}{
		"its own":       {10, false, "the limit of 10 processes was reached (2 forks denied)"},
		"no peak":       {0, false, "the limit of 10 processes was reached"},
		"outer":         {3, true, "the limit of 10 processes was reached"},
		"one around it": {3, false, "a control group around the run was reached (2 forks denied; its own limit of 10 was not, peak 3)"},
	} {
		e := ending{exit: exited(1), evidence: result.Evidence{PidsDenied: 2}, pids: 10, outer: c.outer, usage: result.Usage{PidsPeak: c.peak}}
		if v := judge(e); v.reason != result.ReasonPidsLimit || !strings.Contains(v.message, c.want) {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// TestMissingIsQuoted: a pattern is anybody's text.
func TestMissingIsQuoted(t *testing.T) {
	v := judge(ending{exit: exited(0), missing: []string{"a, b", "\x1b[2J*"}})
	if want := `nothing in /work matches the declared output "a, b", "\x1b[2J*"`; v.message != want {
		t.Errorf("%s, want %s", v.message, want)
	}
}

func TestSentenceIsOneLine(t *testing.T) {
	err := fmt.Errorf("harvest: %w", errors.Join(errors.New("no space left"), errors.New("the log is lost")))
	if got := sentence(err); got != "harvest: no space left; the log is lost" {
		t.Error(got)
	}
}
