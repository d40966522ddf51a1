package catalogtest

import (
	"encoding/json"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

// over is a successful run as Commit gets it.
func over(run catalog.Run) catalog.Run {
	run = ended(run)
	run.State, run.Reason, run.Message, run.ExitCode, run.Signal = outcome.Complete, "exit", "", 0, ""
	return run
}

func testAmend(t *testing.T, d Driver) {
	c := fresh(t, d)
	running := create(t, c, intent("running", 1))
	running.State = outcome.Error
	wantError(t, "Amend of a run that has not ended", c.Amend(t.Context(), running), catalog.ErrNotFound)
	wantError(t, "Amend of a run that is not there", c.Amend(t.Context(), ended(intent("none", 1))), catalog.ErrNotFound)

	want := over(create(t, c, intent("a", 1)))
	must(t, c.Commit(t.Context(), want, from(file("first"))))
	want.OutputsTotal = 1
	want.State, want.Reason, want.Message, want.ExitCode = outcome.Error, "export", "no room", 125
	want.Report = json.RawMessage(`{"warnings":["no room"]}`)
	must(t, c.Amend(t.Context(), want))
	wantRun(t, get(t, c, "a", 1), want)
	wantEntries(t, listing(t, c, want.Key), []outputs.Entry{file("first")})

	back := want
	back.State = outcome.Running
	wantError(t, "Amend back to running", c.Amend(t.Context(), back), catalog.ErrTransition)
	wantRun(t, get(t, c, "a", 1), want)
}
