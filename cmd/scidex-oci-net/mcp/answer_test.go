package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// TestShortAnswer: what is empty is left out, what is cut says so, and a name or a message is one line, before the logs.
func TestShortAnswer(t *testing.T) {
	tools := &tools{bounds: spec.Analysis{}.WithDefaults()}
	plain := tools.short(result.Result{ID: "a", Outcome: outcome.Outcome{State: outcome.Complete, Reason: "exit", Message: "the analysis exited with 0"}})
	plain.Stdout = "4\n"
	if got, err := json.Marshal(plain); err != nil || string(got) != `{"id":"a","state":"complete","exit_code":0,"stdout":"4\n"}` {
		t.Errorf("%s, %v", got, err)
	}
	if got := plain.text(); got != "complete\nrun: a\nstdout:\n4\n" {
		t.Errorf("%q", got)
	}
	r := result.Result{
		ID: "b", Outcome: outcome.Outcome{State: outcome.Failed, Reason: "exit", Message: "the analysis exited with 1", ExitCode: 1},
		Report:       result.Report{Hints: []result.Hint{{Code: "no_gpu", Message: "a run has no GPU"}}, Warnings: []string{"two\nlines", result.ShownBare + "/srv/patients"}},
		OutputsTotal: 1000, RejectedTotal: 1,
	}
	for range mostNamed + 1 {
		r.Outputs = append(r.Outputs, result.Output{Path: "x\nstdout:", Size: 5})
	}
	r.Rejected = []result.Rejected{{Path: "link", Reason: "symlink"}}
	out := tools.short(r)
	out.Stdout, out.StdoutTotal, out.Stderr = "end", 5000, "why\n"
	want := "failed: the analysis exited with 1\nrun: b\nhint: a run has no GPU\nwarning: two lines\n" +
		"warning: what the operator shares is shown as it is and not through an overlay, so that the host feels locks on it\noutputs: " +
		strings.Repeat("x stdout: (5B), ", mostNamed-1) + "x stdout: (5B) and 980 more\nno outputs: link (symlink)\nstdout, the end of 4.883KiB:\nend\nstderr:\nwhy\n"
	if got := out.text(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if whole := strings.Join(tools.verdict(r).Warnings, " "); strings.Contains(whole, "patients") || !strings.Contains(whole, "overlay") {
		t.Errorf("%q", whole)
	}
	if out.OutputsTotal != 1000 || out.RejectedTotal != 0 || *out.ExitCode != 1 {
		t.Errorf("%+v", out)
	}
	running := tools.short(result.Result{ID: "c", Outcome: outcome.Outcome{State: outcome.Running}})
	if got := running.text(); got != "running: wait_run waits for its end, stop_run stops it\nrun: c\n" || running.ExitCode != nil {
		t.Errorf("%q, %+v", got, running)
	}
}
