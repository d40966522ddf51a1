package plan

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/spec"
)

// recordedRun is the row of a run as its launcher writes it.
func recordedRun(t *testing.T, a spec.Analysis, report result.Report) catalog.Run {
	t.Helper()
	a, err := complete(a)
	if err != nil {
		t.Fatal(err)
	}
	a.IDs = spec.IDsRange
	run := catalog.Run{Key: catalog.Key{ID: a.ID, Attempt: 1}}
	if run.Request, err = json.Marshal(a); err != nil {
		t.Fatal(err)
	}
	if run.Report, err = json.Marshal(report); err != nil {
		t.Fatal(err)
	}
	return run
}

func TestChanges(t *testing.T) {
	was := spec.Analysis{ID: "a", Command: []string{"true"}, Env: map[string]string{"k": "v"}, Labels: map[string]string{"k": "v"}}
	run := recordedRun(t, was, result.Report{})
	for name, test := range map[string]struct {
		change func(*spec.Analysis)
		want   string
	}{
		"the same":         {func(*spec.Analysis) {}, ""},
		"a default":        {func(a *spec.Analysis) { a.Pids = 100 }, ""},
		"ids":              {func(a *spec.Analysis) { a.IDs = spec.IDsSelf }, `ids was "range" and is "self"`},
		"another command":  {func(a *spec.Analysis) { a.Command = []string{"false"} }, `command was ["true"] and is ["false"]`},
		"another limit":    {func(a *spec.Analysis) { a.Pids = 7 }, "pids was 100 and is 7"},
		"something new":    {func(a *spec.Analysis) { a.Outputs = []string{"*"} }, `outputs was not given and is ["*"]`},
		"something missed": {func(a *spec.Analysis) { a.Env = nil }, `env was {"k":"v"} and is not given`},
		"other labels":     {func(a *spec.Analysis) { a.Labels = map[string]string{"k": "w"} }, ""},
	} {
		a := was
		test.change(&a)
		got, err := Changes(run, a)
		if err != nil || strings.Join(got, "; ") != test.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
		}
	}
}

// TestChangesOfAnEarlierRun: a field that there is no more, and that changed nothing, is no change.
func TestChangesOfAnEarlierRun(t *testing.T) {
	a := spec.Analysis{ID: "a", Command: []string{"true"}}
	run := recordedRun(t, a, result.Report{})
	run.Request = append([]byte(`{"warm":"auto",`), run.Request[1:]...)
	if got, err := Changes(run, a); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
}

func TestChangesOfAScript(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s.sh")
	write := func(content string) {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	a := spec.Analysis{ID: "a", Script: path}
	const ofNothing = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	run := recordedRun(t, a, result.Report{Script: &result.Script{Name: "s.sh", SHA256: ofNothing}})
	write("")
	if got, err := Changes(run, a); err != nil || len(got) > 0 {
		t.Errorf("%q, %v", got, err)
	}
	changed := func() {
		t.Helper()
		if got, err := Changes(run, a); err != nil || len(got) != 1 || !strings.HasSuffix(got[0], "has changed") {
			t.Errorf("%q, %v", got, err)
		}
	}
	write("true")
	changed()
	if err := errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	changed() // its open would wait for a writer
}
