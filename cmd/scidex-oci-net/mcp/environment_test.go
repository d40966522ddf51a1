package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/spec"
)

// TestPackages: packages are found by their own names and by those of their modules, and what is beyond the bound is counted.
func TestPackages(t *testing.T) {
	var found packages
	err := json.Unmarshal([]byte(`{"python": "3.11.2", "languages": ["python", "r"], "packages": [
		{"name": "scikit-learn", "version": "1.2", "modules": ["sklearn"]}, {"name": "ruamel.yaml", "version": "1"}, {"name": "alone"}, {"name": "x\u001b[2J", "version": "1"}]}`), &found)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"scikit-learn==1.2 (import sklearn)", "ruamel.yaml==1", "alone", `x\x1b[2J==1`}
	for part, want := range map[string][]string{"": all, "SciKit_Learn": all[:1], "sklearn": all[:1], "ruamel-yaml": all[1:2], "one": all[2:3], "none": nil} {
		var out environment
		out.addPackages(found, part)
		if !slices.Equal(out.Packages, want) || out.PackagesTotal != 0 || out.Python != "3.11.2" || len(out.Languages) != 2 {
			t.Errorf("%q: %+v, want %q", part, out, want)
		}
	}
	found.Packages = slices.Repeat(found.Packages[:1], mostPackages+7)
	var out environment
	out.addPackages(found, "")
	if len(out.Packages) != mostPackages || out.PackagesTotal != mostPackages+7 {
		t.Errorf("%d of %d", len(out.Packages), out.PackagesTotal)
	}
}

// TestSharedFiles: files have the paths that a run sees. What a link leads out to is not there for it.
func TestSharedFiles(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{"data/a.csv": "1", "data/sub/deep/b.csv": "22", "docs/read.txt": "333", "secret": "", "in/x.h5": "4444", "one": "55555"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../secret", "in.csv": "sub/deep/b.csv", "loop": "loop", "dir": "sub"} {
		if err := os.Symlink(to, filepath.Join(top, "data", name)); err != nil {
			t.Fatal(err)
		}
	}
	bounds := spec.Analysis{Data: top + "/data", Docs: top + "/docs", Inputs: []string{top + "/in:/inputs/in", top + "/one:/inputs/one", "sha256:" + strings.Repeat("0", 64) + ":/inputs/blob"}}
	for part, want := range map[string]string{
		"":     "[{/data/a.csv 1} {/data/in.csv 2} {/data/sub/deep/b.csv 2} {/docs/read.txt 3} {/inputs/in/x.h5 4} {/inputs/one 5}]",
		"CSV":  "[{/data/a.csv 1} {/data/in.csv 2} {/data/sub/deep/b.csv 2}]",
		"none": "[]",
	} {
		var out environment
		out.addFiles(bounds, part)
		slices.SortFunc(out.Files, func(a, b named) int { return strings.Compare(a.Path, b.Path) })
		if got := fmt.Sprint(out.Files); got != want || out.FilesTotal != 0 || out.Warning != "" {
			t.Errorf("%q: %s, want %s", part, got, want)
		}
	}
	var out environment
	if out.addFiles(spec.Analysis{Data: spec.None, Docs: spec.None}, ""); len(out.Files) > 0 {
		t.Errorf("%+v", out)
	}
	s := shelf{out: &out, left: 2}
	if s.add(top+"/data", "/data"); s.left != 0 || s.total > 2 {
		t.Errorf("of two entries: %+v", s)
	}
}
