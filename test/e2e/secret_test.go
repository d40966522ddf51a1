package e2e

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A secret reaches the analysis and is written down nowhere: only its name is kept.
func TestSecretLeavesNoTrace(t *testing.T) {
	const secret = "geheim-5b1f0c8e2d"
	h := newHarness(t)
	h.setenv("API_TOKEN", secret)
	id := h.id("s")
	h.write("digest.py", `
import hashlib, os
open("digest", "w").write(hashlib.sha256(os.environ["API_TOKEN"].encode()).hexdigest())
`, 0o644)
	r := h.start("--id", id, "--secret", "API_TOKEN", "--keep=always", "--export=out", "--script", "digest.py")
	r.expect(t, "complete", "exit", 0)
	if len(r.Analysis.Secrets) != 1 || r.Analysis.Secrets[0] != "API_TOKEN" || len(r.Analysis.Env) > 0 {
		t.Errorf("the request is %+v", r.Analysis)
	}
	arrived := func(name string) {
		t.Helper()
		if got := h.mustRun("outputs", "cat", name, "digest").stdout; got != digest([]byte(secret)) {
			t.Errorf("the analysis of %s saw another value", name)
		}
	}
	arrived(id)
	// --again needs the value again.
	h.start("--again", id).expect(t, "complete", "exit", 0)
	arrived(id + "@2")
	for _, args := range [][]string{{"show", "--json", id}, {"show", id}, {"ls", "--json"}, {"logs", id}, {"outputs", "ls", "--json", id}} {
		if out := h.mustRun(args...); strings.Contains(out.stdout+out.stderr, secret) {
			t.Errorf("scidex-oci %q shows it", args)
		}
	}
	for _, dir := range []string{h.root, h.dir, r.Kept, r.Kept + "@1"} {
		if files := holding(t, dir, secret); len(files) > 0 {
			t.Errorf("it is written in %q", files)
		}
	}
	h.mustRun("rm", id, id+"@1")

	// The search works: a plain variable is kept with its value.
	h.start("--id", h.id("e"), "--env", "API_TOKEN", "--", "true")
	if files := holding(t, h.root, secret); len(files) == 0 {
		t.Error("the search finds nothing where there is something")
	}
	if shown := h.mustRun("show", "--json", h.id("e")).stdout; !strings.Contains(shown, secret) {
		t.Error("the value of a variable is not shown")
	}
}

// holding returns the files below dir that hold the text, however small dir is: none is an error.
func holding(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%s: %d files read, %v", dir, files, err)
	}
	return found
}
