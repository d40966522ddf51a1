package e2e

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// exampleScripts are the Python scripts of examples/ with the manifests that run them. All can be prepared before their
// turn, and their outputs have nothing that differs each time: no dates, no paths of the host and no ids. The Python of
// python/ and docs/ calls scidex-oci, and is no analysis.
var exampleScripts = map[string]string{
	"brain-networks/correlate.py":    "brain-networks/manifest.yaml",
	"brain-networks/scientific.py":   "brain-networks/scientific.yaml",
	"brain-networks/post_process.py": "", // a hook, which as an analysis has no input and fails
	"fmri/timecourse.py":             "fmri/manifest.yaml",
	"fmri/scientific.py":             "fmri/scientific.yaml",
	"penguins/measure.py":            "penguins/manifest.yaml",
	"penguins/scientific.py":         "penguins/scientific.yaml",
}

// readyExamples is how often an example is compared.
func readyExamples() int {
	if inSoak() {
		return 20
	}
	return 2
}

// TestReadyExamples compares prepared examples with the same examples started cold, on the host's Python.
func TestReadyExamples(t *testing.T) {
	h := newHarness(t)
	for script, file := range exampleScripts {
		if filepath.Base(script) != "scientific.py" {
			t.Run(script, func(t *testing.T) {
				t.Parallel()
				h.in(t).compareExample(script, file)
			})
		}
	}
	found := matches("../../examples/*/*.py")
	for i, path := range found {
		found[i] = strings.TrimPrefix(path, "../../examples/")
	}
	if listed := slices.Sorted(maps.Keys(exampleScripts)); !slices.Equal(found, listed) {
		t.Errorf("examples/ has %q, the table %q", found, listed)
	}
}

// TestReadyScientific is the same for those with NumPy, pandas and matplotlib, on the image that their manifests name.
func TestReadyScientific(t *testing.T) {
	h := newHarness(t)
	h.recipeImage("scientific")
	for script, file := range exampleScripts {
		if filepath.Base(script) == "scientific.py" {
			t.Run(script, func(t *testing.T) { h.in(t).compareExample(script, file) })
		}
	}
}

// compareExample runs an example once cold, and then ready as often as readyExamples says.
func (h *harness) compareExample(script, file string) {
	h.t.Helper()
	line := h.example(script, file)
	cold, code := h.coldExample(line)
	f := h.feed()
	defer f.close()
	for n := range readyExamples() {
		r := f.run(line)
		s := h.situationOf(r)
		s.same(h.t, fmt.Sprintf("ready run %d of %s", n+1, script), cold)
		if r.ExitCode != code || s.start != "ready" {
			h.t.Errorf("%s: its start was %q, exit code %d, cold %d", script, s.start, r.ExitCode, code)
		}
	}
}

// example is the manifest of an example as a line of a batch.
func (h *harness) example(script, file string) manifest {
	h.t.Helper()
	line := manifest{}
	if file != "" {
		if err := yaml.Unmarshal([]byte(readFile(h.t, "../../examples/"+file)), &line); err != nil {
			h.t.Fatal(err)
		}
	}
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		h.t.Fatal(err)
	}
	return line.and("script", filepath.Join(examples, script)).and("data", filepath.Join(examples, "data"))
}

// coldExample is the result of a line that starts cold, and its exit code.
func (h *harness) coldExample(line manifest) (situation, int) {
	h.t.Helper()
	f := h.feed("--preload", "none")
	defer f.close()
	r := f.run(line)
	s := h.situationOf(r)
	if r.ExitCode == 0 && (s.stdout == "" || len(s.outputs) == 0) || r.ExitCode != 0 && s.stderr == "" {
		h.t.Errorf("cold: there is nothing to compare: %+v", s)
	}
	return s, r.ExitCode
}
