package judge

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// killed is the report of a run of which the kernel killed so many processes for lack of memory.
func killed(times int64) result.Report {
	return result.Report{Evidence: result.Evidence{OOMKills: times}}
}

// A stop ends a run that the kernel had killed before no more.
func TestEndedByStop(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, c := range map[string]struct {
		kills    int64
		exit     sandbox.Exit
		after    time.Duration
		insisted bool
		stop     bool
	}{
		"nobody was killed":           {0, signaled(unix.SIGKILL), time.Second, false, true},
		"the kernel's kill":           {1, signaled(unix.SIGKILL), time.Second, false, false},
		"the kernel's, of everything": {3, sandbox.Exit{Executed: true}, time.Second, false, false},
		"the kernel's, before":        {1, signaled(unix.SIGKILL), -time.Second, false, false},
		"it obeyed":                   {1, signaled(unix.SIGTERM), time.Second, false, true},
		"it ended by itself":          {1, exited(0), time.Second, false, true},
		"our kill":                    {1, signaled(unix.SIGKILL), 5 * time.Second, false, true},
		"the user's kill":             {1, signaled(syscall.SIGKILL), time.Second, true, true},
	} {
		e := ending{
			Exit: c.exit, Report: killed(c.kills), Analysis: spec.Analysis{Grace: spec.Duration(5 * time.Second)},
			Stopped: &request.StopSignal{Name: "SIGTERM"}, StoppedAt: at, Forced: c.insisted,
		}
		e.Exit.Finished = at.Add(c.after)
		if got := e.endedByStop(); got != c.stop {
			t.Errorf("%s: ended by a stop: %v", name, got)
		}
	}
	if (ending{Report: killed(1)}).endedByStop() {
		t.Error("nothing stopped it, and it ended by a stop")
	}
}

func TestMemoryWarnings(t *testing.T) {
	for name, c := range map[string]struct {
		kills   int64
		verdict outcome.Outcome
		stopped bool
		want    string // empty: no warning
	}{
		"nothing":        {0, outcome.Outcome{State: outcome.Complete, Reason: outcome.ReasonExit}, false, ""},
		"a child":        {1, outcome.Outcome{State: outcome.Complete, Reason: outcome.ReasonExit}, false, "killed 1 process of the run for lack of memory, and the analysis went on"},
		"timed out":      {2, outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonTimeout}, false, "killed 2 processes of the run for lack of memory"},
		"the reason":     {1, outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonOutOfMemory}, false, ""},
		"and a stop":     {1, outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonOutOfMemory}, true, "SIGTERM came as well"},
		"stopped before": {1, outcome.Outcome{State: outcome.Canceled, Reason: outcome.ReasonStopped}, true, "killed 1 process"},
	} {
		e := ending{Report: killed(c.kills)}
		if c.stopped {
			e.Stopped = &request.StopSignal{Name: "SIGTERM"}
		}
		got := strings.Join(e.memoryWarnings(c.verdict), "\n")
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) || strings.HasSuffix(got, "went on") != (name == "a child") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
