package runcrate

import (
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/crate"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// recorded is a result with all that a crate says of it.
func recorded(t *testing.T) (catalog.Run, result.Result) {
	t.Helper()
	at := time.Date(2026, 3, 4, 5, 6, 7, 8e6, time.UTC)
	run := catalog.Run{
		Key: catalog.Key{ID: "fit", Attempt: 2}, Outcome: outcome.Outcome{State: outcome.Complete}, StartedAt: at, FinishedAt: at.Add(time.Minute), ToolVersion: "v1",
		Request: json.RawMessage(`{"script": "fit.py", "args": ["a b"], "data": "/srv/data", "inputs": ["/srv/x:/inputs/x"], "env": {"LEVEL": "3", "EMPTY": ""}}`),
	}
	r, err := result.New(run)
	if err != nil {
		t.Fatal(err)
	}
	digest, reference, root := strings.Repeat("ab", 32), "registry.example.org/python:3.12@sha256:"+strings.Repeat("cd", 32), "sha256:ef"
	r.Script = &result.Script{Name: "/srv/fit.py", SHA256: digest}
	r.Inputs = []result.Input{{Destination: "/inputs/x", Digested: "content", SHA256: &digest}}
	r.Sandbox.RootfsReference, r.Sandbox.RootfsDigest = &reference, &root
	r.Usage = result.Usage{WallMS: 60_000, CPUMS: 7}
	return run, r
}

// described are the metadata that Describe makes, with what a maker adds.
func described(t *testing.T, run catalog.Run, r result.Result) map[string]any {
	t.Helper()
	c := describe(run, r)
	c.Script = scriptOf(r.Script)
	c.Script.Size = 7
	c.Outputs = []crate.File{{Path: []byte("a.csv"), Size: 1, SHA256: strings.Repeat("12", 32), MediaType: "text/csv"}}
	c.Agent, c.License = &crate.Agent{Name: "Ada"}, "https://creativecommons.org/publicdomain/zero/1.0/"
	described, err := crate.Describe(c)
	dir := filepath.Join(t.TempDir(), "crate")
	if err == nil {
		err = described.WriteDir(t.Context(), dir, opener(func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("")), nil }))
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, crate.MetadataFile))
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

// compared returns the problems of metadata, one a line.
func compared(t *testing.T, metadata string, r result.Result) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, crate.MetadataFile), []byte(metadata), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := crate.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it was only read
	res, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	problems, err := Compare(c, res)
	var all []string
	for _, p := range problems {
		all = append(all, p.What)
	}
	if err != nil {
		all = append(all, err.Error())
	}
	return strings.Join(all, "\n")
}

func encoded(t *testing.T, document any) string {
	t.Helper()
	text, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompare: metadata of Describe agree with the result, also with what a maker may add; every other change of a
// property about the run is found.
func TestCompare(t *testing.T) {
	run, r := recorded(t)
	if got := compared(t, encoded(t, described(t, run, r)), r); got != "" {
		t.Errorf("unchanged: %s", got)
	}
	kept := []string{"description", "agent", "result", "contentSize", "encodingFormat"}
	others := []string{"ro-crate-metadata.json", "outputs/a.csv", "https://creativecommons.org/publicdomain/zero/1.0/", "https://w3id.org/ro/wfrun/process/0.5", "#agent"}
	for i, e := range described(t, run, r)["@graph"].([]any) {
		id := e.(map[string]any)["@id"].(string)
		about := slices.Sorted(maps.Keys(e.(map[string]any)))
		if id == "./" {
			about = []string{"@id", "@type", "datePublished", "mentions"}
		}
		for _, name := range about {
			for _, change := range []string{"another", "removed"} {
				document := described(t, run, r)
				entity := document["@graph"].([]any)[i].(map[string]any)
				if entity[name] = "another"; change == "removed" {
					delete(entity, name)
				}
				free := slices.Contains(others, id) || slices.Contains(kept, name) && id+name != "#run-fit@2-engineresult"
				if got := compared(t, encoded(t, document), r); (got == "") != free {
					t.Errorf("%s of %s is %s: %q", name, id, change, got)
				}
			}
		}
		if slices.Contains(others, id) || id == "./" {
			continue
		}
		document := described(t, run, r)
		document["@graph"].([]any)[i].(map[string]any)["added"] = "x"
		if got := compared(t, encoded(t, document), r); !strings.Contains(got, "added is not what the result says") {
			t.Errorf("an addition to %s: %q", id, got)
		}
	}
}

// TestCompareHostile: metadata that get another meaning by other means than a changed property.
func TestCompareHostile(t *testing.T) {
	run, r := recorded(t)
	good := encoded(t, described(t, run, r))
	graph := func(more string) string { return strings.Replace(good, `"@graph":[`, `"@graph":[`+more+`,`, 1) }
	const failed = `"actionStatus":{"@id":"http://schema.org/FailedActionStatus"}`
	for title, test := range map[string]struct{ metadata, why string }{
		"failed":              {strings.Replace(good, "CompletedActionStatus", "FailedActionStatus", 1), "#run-fit@2: actionStatus is not what the result says"},
		"an error":            {strings.Replace(good, `"startTime":`, `"error":"it failed","startTime":`, 1), "error is not"},
		"another command":     {strings.Replace(good, `"description":"fit.py`, `"name":"Run other@1","description":"fit.py`, 1), "twice"},
		"another name twice":  {strings.Replace(good, `"startTime":`, failed+`,"startTime":`, 1), `"actionStatus" is there twice`},
		"an action twice":     {graph(`{"@id":"#run-fit@2","@type":"CreateAction",` + failed + `}`), "#run-fit@2: there twice"},
		"by another spelling": {graph(`{"@id":"#run-fit%402","@type":"Thing",` + failed + `}`), "#run-fit%402: there twice"},
		"by another path":     {graph(`{"@id":"./#run-fit@2",` + failed + `}`), "there twice"},
		"another action":      {graph(`{"@id":"#other","@type":["Thing","http://schema.org/UpdateAction"]}`), "an action that is not of the run"},
		"in another entity":   {graph(`{"@id":"#x","about":{"@id":"#run-fit@2","error":"it failed"}}`), "about can say something"},
		"in a list":           {graph(`{"@id":"#x","about":[[{"@id":"#run-fit@2"}]]}`), "about can say something"},
		"reversed":            {graph(`{"@id":"#x","@reverse":{"error":{"@id":"#run-fit@2"}}}`), "@reverse can say something"},
		"included":            {graph(`{"@id":"#x","@included":[]}`), "@included can say something"},
		"another context":     {strings.Replace(good, `"@context":[`, `"@context":[{"actionStatus":"http://example.org/x"},`, 1), "@context: it gives"},
		"a named graph":       {strings.Replace(good, `"@graph":[`, `"@id":"#g","@graph":[`, 1), "@id: it does not belong"},
		"two graphs":          {strings.Replace(good, `"@graph":[`, `"@graph":[],"@graph":[`, 1), `"@graph" is there twice`},
		"two documents":       {good + good, "something follows"},
		"many":                {graph(strings.TrimSuffix(strings.Repeat(`{"@id":"#x","@type":"Action"},`, 1000), ",")), "an action that is not of the run"},
	} {
		if got := compared(t, test.metadata, r); !strings.Contains(got, test.why) || strings.Count(got, "\n") > 150 {
			t.Errorf("%s: %.300q, want %q", title, got, test.why)
		}
	}
	run.State, run.Message = outcome.Failed, "it ended with exit code 3"
	if got := compared(t, encoded(t, described(t, run, r)), r); !strings.Contains(got, "error is not") {
		t.Errorf("a failed run: %q", got)
	}
	r.State, r.Message = run.State, run.Message
	if got := compared(t, encoded(t, described(t, run, r)), r); got != "" {
		t.Errorf("a failed run that failed: %q", got)
	}
}
