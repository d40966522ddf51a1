package e2e

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// recipes are the files of docs/ci.
func recipes(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, path := range matches("../../docs/ci/*") {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(path)] = string(raw)
	}
	if len(texts) < 5 {
		t.Fatalf("docs/ci has %d files", len(texts))
	}
	return texts
}

// oursIn finds commands of this program in a recipe, to the end of the line.
var oursIn = regexp.MustCompile(`(?m)(?:^\s*(?:- |run: |IMAGE )?|sh -ec ')(scidex-oci (?:run|batch|doctor) .*)$|^\s*run: (scidex-oci doctor)$`)

// TestRecipesOfCI executes each command of docs/ci in a directory that has what the recipes speak of. If a recipe has
// no --limits, the test adds outer, which works on every machine.
func TestRecipesOfCI(t *testing.T) {
	for name, text := range recipes(t) {
		if name == "gitlab-runner.toml" {
			continue // it has no command
		}
		t.Run(name, func(t *testing.T) {
			commands := oursIn.FindAllStringSubmatch(text, -1)
			if want := strings.Count(text, "scidex-oci run ") + strings.Count(text, "scidex-oci batch "); want == 0 || len(commands) < want {
				t.Fatalf("%d commands of %d were understood: %q", len(commands), want, commands)
			}
			for _, found := range commands {
				h := newHarness(t)
				h.tryRecipe(found[1] + found[2])
			}
		})
	}
}

// tryRecipe gives a command what a job has.
func (h *harness) tryRecipe(command string) {
	h.t.Helper()
	id := h.id("x")
	h.write("fit.py", "open('result.txt', 'w').write('1')\n", 0o644)
	for _, dir := range []string{"", "data"} {
		h.write(filepath.Join(dir, "analysis.yaml"), "id: "+id+"\ncommand: [touch, result.txt]\n", 0o644)
	}
	h.write("analyses.jsonl", `{"id": "`+id+`", "script": "fit.py", "data": "data", "export": "out/fit"}`+"\n", 0o644)
	h.write("out/.keep", "", 0o644)
	h.write("bin/scidex-oci", "#!/bin/sh\nexec '"+theHost.bin+"' \"$@\"\n", 0o755)
	h.setenv("PATH", h.path("bin")+":"+os.Getenv("PATH"))
	h.setenv("SCIDEX_OCI_LIMITS", "outer")
	h.setenv("GITHUB_RUN_ID", "7")
	h.setenv("CI_PIPELINE_ID", "7")
	if strings.Contains(command, "--export out ") {
		if err := os.Remove(h.path("out/.keep")); err != nil {
			h.t.Fatal(err)
		}
	}
	if out := h.finish(h.command("sh", "-ec", command)); out.code != 0 {
		h.t.Fatalf("%q: exit code %d\n%s%s", command, out.code, out.stdout, out.stderr)
	}
	if strings.Contains(command, "doctor") {
		return
	}
	exported := matches(h.path("out/result.txt"))
	exported = slices.Concat(exported, matches(h.path("out/*/result.txt")))
	if len(exported) != 1 {
		h.t.Errorf("%q exported %q", command, exported)
	}
	h.checkJUnit(command)
}

// checkJUnit checks that a command has written its XML.
func (h *harness) checkJUnit(command string) {
	h.t.Helper()
	if !strings.Contains(command, "--junit ") {
		return
	}
	file, err := os.Open(h.path("junit.xml"))
	if err != nil {
		h.t.Error(err)
		return
	}
	defer file.Close()
	for decoder := xml.NewDecoder(file); ; {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			h.t.Error(err)
			return
		}
	}
}

// TestRecipesParse checks that the recipes are YAML, and that each gives the container around a run what the run needs.
func TestRecipesParse(t *testing.T) {
	texts := recipes(t)
	for name, words := range map[string][]string{
		"github-actions.yml":  {"systempaths=unconfined", "seccomp=unconfined", "apparmor=unconfined", "--memory", "apparmor_restrict_unprivileged_userns=0", "upload-artifact"},
		"gitlab-ci.yml":       {"artifacts:", "junit: junit.xml", "when: always"},
		"kubernetes-job.yaml": {"hostUsers: false", "procMount: Unmasked", "type: Unconfined", "memory: 6Gi"},
		"gitlab-runner.toml":  {`security_opt = ["seccomp=unconfined", "apparmor=unconfined", "unmask=ALL"]`},
		"README.md":           {"unmask=ALL", "systempaths=unconfined", "--limits outer", "--export"},
	} {
		for _, word := range words {
			if !strings.Contains(texts[name], word) {
				t.Errorf("%s has no %s", name, word)
			}
		}
		if !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".yaml") {
			continue
		}
		var any map[string]yaml.Node // a key twice is an error
		if err := yaml.Unmarshal([]byte(texts[name]), &any); err != nil || len(any) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}
