// Package examples_test runs the unchanged scripts of the examples without a container and checks their numbers against
// an independent computation. test/e2e does the same with a container.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/examples/check"
)

// example is a script of the examples, its check, and changes that the check must find: for every file a text that
// occurs in it and what replaces it.
type example struct {
	script string
	check  func(dataDir, outDir string) error
	edits  []edit
}

type edit struct{ file, old, new string }

var examples = map[string]example{
	"brain-networks": {
		script: "correlate.py", check: check.BrainNetworks,
		edits: []edit{
			{"nodes.csv", "\n1-1-lh,1,", "\n1-1-lh,1.00000001,"},
			{"nodes.csv", "\n2-1-lh,-0.0", "\n2-1-lh,0.0"},
			{"networks.csv", "0.88151562", "0.88151563"},
			{"networks.csv", "\n17,", "\n18,"},
			{"heatmap.svg", "</svg>", ""},
		},
	},
	"penguins": {
		script: "measure.py", check: check.Penguins,
		edits: []edit{
			{"measurements.csv", "Gentoo,unknown,body_mass_g,4,1,", "Gentoo,unknown,body_mass_g,5,0,"},
			{"measurements.csv", "3368.8356", "3368.8357"},
			{"measurements.csv", "median", "mode"},
			{"measurements.csv", "\nAdelie,male,", "\nAdelie,female,"},
			{"boxplot.svg", "d=\"M", "d=\"MNaN"},
		},
	},
	"fmri": {
		script: "timecourse.py", check: check.FMRI,
		edits: []edit{
			{"timecourses.csv", "frontal,cue,0,14,", "frontal,cue,0,13,"},
			{"timecourses.csv", ",0.28", ",nan"},
			{"timecourses.csv", "parietal,stim,18,", "parietal,stim,19,"},
			{"timecourses.svg", "</title>", ""},
		},
	},
}

func TestNumbers(t *testing.T) {
	data := dataDir(t)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			out := runScript(t, data, filepath.Join(name, example.script))
			if err := example.check(data, out); err != nil {
				t.Error(err)
			}
		})
	}
}

// The versions with numpy and matplotlib compute the same numbers, and their tables pass the same checks.
func TestScientificNumbers(t *testing.T) {
	data := dataDir(t)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			out := runScript(t, data, filepath.Join(name, "scientific.py"))
			if err := example.check(data, out); err != nil {
				t.Error(err)
			}
			pictures := glob(t, filepath.Join(out, "*.png"))
			whole := read(t, pictures[0])
			write(t, pictures[0], whole[:len(whole)/2])
			if err := example.check(data, out); err == nil {
				t.Error("half a picture passed")
			}
		})
	}
}

// A check that lets a changed number pass proves nothing.
func TestChecksNoticeChanges(t *testing.T) {
	data := dataDir(t)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			out := runScript(t, data, filepath.Join(name, example.script))
			for _, e := range example.edits {
				restore := apply(t, out, e)
				if err := example.check(data, out); err == nil {
					t.Errorf("%s with %q in place of %q passed", e.file, e.new, e.old)
				}
				restore()
			}
			if err := example.check(data, out); err != nil {
				t.Errorf("restored outputs: %v", err)
			}
		})
	}
}

func TestSameBytesTwice(t *testing.T) {
	data := dataDir(t)
	for name, example := range examples {
		t.Run(name, func(t *testing.T) {
			script := filepath.Join(name, example.script)
			first, second := runScript(t, data, script), runScript(t, data, script)
			for _, path := range glob(t, filepath.Join(first, "*")) {
				base := filepath.Base(path)
				if read(t, path) != read(t, filepath.Join(second, base)) {
					t.Errorf("%s differs between two runs", base)
				}
			}
		})
	}
}

// The picture in the README is what the example makes.
func TestPictureOfREADME(t *testing.T) {
	out := runScript(t, dataDir(t), "brain-networks/correlate.py")
	shown := read(t, "../docs/images/brain-networks.svg")
	if read(t, filepath.Join(out, "heatmap.svg")) != shown {
		t.Error("docs/images/brain-networks.svg is not what the example writes: copy it there")
	}
}

func dataDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// runScript runs the script in a fresh directory and returns it.
func runScript(t *testing.T, data, script string) string {
	t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	cmd := exec.Command("/usr/bin/python3", path) // Debian's, which has numpy
	cmd.Dir = out
	cmd.Env = append(os.Environ(), "SCIDEX_DATA_DIR="+data, "PYTHONDONTWRITEBYTECODE=1")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", script, err, text)
	}
	return out
}

// apply edits the first occurrence of e.old and returns a function that undoes it.
func apply(t *testing.T, dir string, e edit) (restore func()) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	before := read(t, path)
	if !strings.Contains(before, e.old) {
		t.Fatalf("%s does not contain %q", e.file, e.old)
	}
	write(t, path, strings.Replace(before, e.old, e.new, 1))
	return func() { write(t, path, before) }
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("%s: %d files, %v", pattern, len(paths), err)
	}
	return paths
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
