package results

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/limits"
)

// sample is a result with something in every place.
func sample() result.Result {
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	return result.Result{
		V: 1, ID: "mini-01", Attempt: 2, Outcome: outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonSignal, ExitCode: 139, Signal: "SIGSEGV", Message: "the analysis was killed by SIGSEGV"},
		CreatedAt: &at, StartedAt: &at, FinishedAt: &at,
		Report: result.Report{
			Usage:    result.Usage{WallMS: 1234, CPUMS: 1100, MemoryPeakBytes: 53 << 20},
			Evidence: result.Evidence{PidsDenied: 2},
			Enforced: []result.Enforcement{
				{Limit: "memory", Asked: "2147483648", Effective: "2147483648", By: "cgroup"},
				{Limit: "cpus", Asked: "1", Effective: "", By: "none"},
				{Limit: "pids", Asked: "100", Effective: "100", By: "watchdog"},
				{Limit: "work_size", Asked: "1073741824", Effective: "1073741824", By: "watchdog"},
				{Limit: "timeout", Asked: "30m", Effective: "30m", By: "watchdog"},
			},
			Sandbox:  result.Sandbox{UserNamespace: true, Network: "none", Seccomp: "enforced", Rootfs: "host", UIDOnHost: 100001, IDs: "range"},
			Logs:     result.Logs{Stdout: result.Log{Bytes: 12, SHA256: "aa"}, Stderr: result.Log{Bytes: 32 << 20, Truncated: true, SHA256: "bb"}},
			Warnings: []string{"cpus is not enforced"}, Hints: []result.Hint{{Code: "x", Message: "do better"}},
		},
		Outputs: []result.Output{
			{Path: "summary.csv", Size: 1229, SHA256: strings.Repeat("0123456789abcdef", 4), MediaType: "text/csv"},
			{Path: "évil\x1b[2J\u202e.svg", Size: 3, SHA256: strings.Repeat("f", 64), MediaType: "image/svg+xml", Partial: true},
		},
		Rejected:     []result.Rejected{{Path: "link", Reason: "symlink", Detail: "-> /etc/shadow"}},
		OutputsTotal: 2, RejectedTotal: 1,
	}
}

func TestSummary(t *testing.T) {
	want := `run         mini-01 (attempt 2)
state       failed: signal SIGSEGV (139)
message     the analysis was killed by SIGSEGV
time        wall 1.23s, cpu 1.1s
memory      53MiB of 2GiB
outputs     2
            summary.csv            1.2KiB  text/csv       0123456789ab
            évil\x1b[2J\u202e.svg  3B      image/svg+xml  ffffffffffff  partial
rejected    1
            link  symlink  -> /etc/shadow
warning     cpus is not enforced
hint        do better
next        scidex-oci show mini-01
            scidex-oci logs mini-01
            scidex-oci run --shell mini-01
            scidex-oci outputs export mini-01 DIR
`
	var got bytes.Buffer
	Table{Table: screen.Table{W: &got}, Program: "scidex-oci"}.Summary(sample())
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// TestSummaryOfBestEffort: who allowed it for all runs is told in a word; a command that asked for it, with what is not held.
func TestSummaryOfBestEffort(t *testing.T) {
	for _, accustomed := range []bool{false, true} {
		r := sample()
		r.Warnings = append(r.Warnings, limits.Unheld(r.Enforced)...)
		var got bytes.Buffer
		Table{Table: screen.Table{W: &got}, Accustomed: accustomed}.Summary(r)
		word, sentence := strings.Contains(got.String(), "\nlimits      best-effort\n"), strings.Contains(got.String(), "CPUs are not limited")
		if word != accustomed || sentence == accustomed || !strings.Contains(got.String(), "cpus is not enforced") || len(r.Warnings) != 2 {
			t.Errorf("accustomed: %v, got:\n%s", accustomed, got.String())
		}
	}
}

// TestSummaryOfExports: an export is confirmed whatever the state, and advised only to who has none.
func TestSummaryOfExports(t *testing.T) {
	for _, tt := range []struct {
		state   outcome.State
		reason  outcome.Reason
		warning string
		want    bool
	}{
		{outcome.Complete, outcome.ReasonExit, "", true},
		{outcome.Failed, outcome.ReasonExit, "", true},
		{outcome.Canceled, outcome.ReasonStopped, "", true},
		{outcome.Error, outcome.ReasonPostProcess, "", true},
		{outcome.Failed, outcome.ReasonExit, result.NotExported + "the disk is full", false},
		{outcome.Error, outcome.ReasonExport, "", false},
		{outcome.Lost, outcome.ReasonSupervisorLost, "", false},
		{outcome.Running, "", "", false},
	} {
		r := sample()
		r.State, r.Reason, r.Warnings, r.Analysis = tt.state, tt.reason, []string{tt.warning}, []byte(`{"export":"/tmp/out"}`)
		var got bytes.Buffer
		Table{Table: screen.Table{W: &got}, Program: "scidex-oci"}.Summary(r)
		if strings.Contains(got.String(), "exported    /tmp/out\n") != tt.want || strings.Contains(got.String(), "outputs export") == tt.want {
			t.Errorf("%s, %s, %q:\n%s", tt.state, tt.reason, tt.warning, got.String())
		}
	}
}

// TestSummaryOfRequests: why one failed is beside it, since no hint has that.
func TestSummaryOfRequests(t *testing.T) {
	r := sample()
	r.Requests = &result.Requests{Total: 2, Failed: 1, List: []result.Request{
		{Method: "GET", Host: "a.example.org", Port: 80, Verdict: result.RequestFailed, Why: "the name a.example.org cannot be resolved"},
		{Method: "CONNECT", Host: "b.example.org", Port: 443, Verdict: result.RequestAllowed},
	}}
	var got bytes.Buffer
	Table{Table: screen.Table{W: &got}, Program: "scidex-oci"}.Summary(r)
	for _, want := range []string{"GET      a.example.org:80   failed: the name a.example.org cannot be resolved\n", "CONNECT  b.example.org:443  allowed\n"} {
		if !strings.Contains(got.String(), want) {
			t.Errorf("no %q in:\n%s", want, got.String())
		}
	}
}

func TestSummaryIsCut(t *testing.T) {
	r := sample()
	r.Outputs = nil
	for i := range 30 {
		r.Outputs = append(r.Outputs, result.Output{Path: fmt.Sprintf("part-%02d", i)})
	}
	r.OutputsTotal = 12345 // the listing itself holds 10,000 at most
	var got bytes.Buffer
	Table{Table: screen.Table{W: &got}, Program: "scidex-oci --root /r"}.Summary(r)
	if n := strings.Count(got.String(), "part-"); n != MaxEntries {
		t.Errorf("%d outputs listed, want %d", n, MaxEntries)
	}
	if want := "and 12325 more: scidex-oci --root /r outputs ls mini-01\n"; !strings.Contains(got.String(), want) {
		t.Errorf("no %q in:\n%s", want, got.String())
	}
}

func TestSummaryIsHarmless(t *testing.T) {
	const evil = "\x1b[2J\u009b\u202e\n\r\a\xff"
	r := sample()
	r.ID, r.Message, r.Signal, r.Kept, r.Warnings, r.Hints = evil, evil, evil, evil, []string{evil}, []result.Hint{{Code: evil, Message: evil}}
	r.Outputs[0] = result.Output{Path: evil, MediaType: evil, SHA256: strings.Repeat("0", 64)}
	r.Rejected[0] = result.Rejected{Path: evil, Reason: evil, Detail: evil}
	r.Labels = map[string]string{evil: evil}
	r.Host, r.ToolVersion, r.Sandbox.Rootfs, r.Enforced[1].Limit = evil, evil, evil, evil
	r.Analysis = []byte(`{"script":"` + "\u202e" + `\u001b[2J","env":{"A":"\u001b[2J"},"inputs":["\u001b"]}`)
	r.Requests = &result.Requests{Hosts: []string{evil}, Total: 1, Failed: 1, List: []result.Request{{Method: evil, Host: evil, Why: evil, Verdict: result.RequestFailed}}}
	var got bytes.Buffer
	tb := Table{Table: screen.Table{W: &got}, Program: "scidex-oci"}
	tb.Summary(r)
	tb.Show(r, []catalog.Run{{}, {}})
	for line := range strings.Lines(got.String()) {
		if line = strings.TrimSuffix(line, "\n"); screen.Escape(line) != line {
			t.Errorf("not escaped: %q", line)
		}
	}
	if strings.ContainsAny(got.String(), "\x1b\r") {
		t.Errorf("raw control in %q", got.String())
	}
}

func TestShow(t *testing.T) {
	r := sample()
	r.Analysis = []byte(`{"id":"mini-01","command":["python3","-c","print(1)"],"data":"/srv/data","docs":"none","secrets":["TOKEN"]}`)
	r.Labels = map[string]string{"team": "brain", "area": "fmri"}
	r.Host, r.ToolVersion = "node1", "1.0"
	local := screen.LocalTime(*r.CreatedAt)
	want := `run         mini-01 (attempt 2)
attempts    1 complete, 2 failed
state       failed: signal SIGSEGV (139)
message     the analysis was killed by SIGSEGV
command     python3 -c 'print(1)'
data        /srv/data
secrets     TOKEN
labels      area=fmri,team=brain
created     ` + local + `
started     ` + local + `
finished    ` + local + `
time        wall 1.23s, cpu 1.1s
memory      53MiB of 2GiB
evidence    2 processes denied
limits      5
            LIMIT      ASKED  EFFECTIVE  BY
            memory     2GiB   2GiB       cgroup
            cpus       1                 none
            pids       100    100        watchdog
            work_size  1GiB   1GiB       watchdog
            timeout    30m    30m        watchdog
sandbox     rootfs host, network none, seccomp enforced, uid 100001 on the host (range)
outputs     2
            summary.csv            1.2KiB  text/csv       0123456789ab
            évil\x1b[2J\u202e.svg  3B      image/svg+xml  ffffffffffff  partial
rejected    1
            link  symlink  -> /etc/shadow
logs        stdout 12B, stderr 32MiB (truncated)
warning     cpus is not enforced
hint        do better
by          scidex-oci 1.0 on node1
`
	var got bytes.Buffer
	Table{Table: screen.Table{W: &got}, Program: "scidex-oci"}.Show(r, []catalog.Run{
		{Key: catalog.Key{ID: "mini-01", Attempt: 2}, Outcome: outcome.Outcome{State: outcome.Failed}},
		{Key: catalog.Key{ID: "mini-01", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Complete}},
	})
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestEnding(t *testing.T) {
	tests := []struct {
		result result.Result
		want   string
	}{
		{result.Result{Outcome: outcome.Outcome{State: outcome.Complete, Reason: outcome.ReasonExit}}, "complete: exit 0"},
		{result.Result{Outcome: outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonExit, ExitCode: 3}}, "failed: exit 3"},
		{result.Result{Outcome: outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonTimeout, ExitCode: 124}}, "failed: timeout (124)"},
		{result.Result{Outcome: outcome.Outcome{State: outcome.Failed, Reason: outcome.ReasonSignal, ExitCode: 137, Signal: "SIGKILL"}}, "failed: signal SIGKILL (137)"},
		{result.Result{Outcome: outcome.Outcome{State: outcome.Canceled, Reason: outcome.ReasonStopped, ExitCode: 130, Signal: "SIGKILL"}}, "canceled: stopped (130)"},
		{result.Result{Outcome: outcome.Outcome{State: outcome.Running}}, "running"},
	}
	for _, test := range tests {
		if got := Ending(test.result); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
