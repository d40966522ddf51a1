package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestPackages: packages are found by their own names and by those of their modules, and what is beyond the bound is counted.
func TestPackages(t *testing.T) {
	var found seen
	err := json.Unmarshal([]byte(`{"python": "3.11\u001b[2J", "languages": ["r", "python", "\u001b[2J"], "packages": [
		{"name": "scikit-learn", "version": "1.2", "modules": ["sklearn"]}, {"name": "ruamel.yaml", "version": "1"}, {"name": "alone"}, {"name": "x\u001b[2J", "version": "1"}]}`), &found)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"scikit-learn==1.2 (import sklearn)", "ruamel.yaml==1", "alone", `x\x1b[2J==1`}
	for part, want := range map[string][]string{"": all, "SciKit_Learn": all[:1], "sklearn": all[:1], "ruamel-yaml": all[1:2], "one": all[2:3], "none": nil} {
		var out environment
		out.addPackages(found, part)
		if !slices.Equal(out.Packages, want) || out.PackagesTotal != 0 || out.Python != `3.11\x1b[2J` || !slices.Equal(out.Languages, []string{"python", "r"}) {
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

// TestSharedFiles: files have the paths that a run sees, links resolved, and what is beyond a bound is counted.
func TestSharedFiles(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{"data/a.csv": "1", "data/sub/deep/b.csv": "22", "docs/read.txt": "333", "one\xff": "55555"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"out": "../gone", "in.csv": "sub/deep/b.csv", "loop": "loop", "dir": "sub"} {
		if err := os.Symlink(to, filepath.Join(top, "data", name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := unix.Mkfifo(filepath.Join(top, "data/fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	look := func(part, listed, looked string) (out environment) {
		t.Helper()
		cmd := exec.Command("python3", "-c", environmentProgram, part, listed, looked, "data", "docs", "one\xff", "none", "data/fifo")
		cmd.Dir, cmd.Stderr = top, os.Stderr
		printed, err := cmd.Output()
		var found seen
		if err == nil {
			err = json.Unmarshal(printed, &found)
		}
		if err != nil {
			t.Fatal(err)
		}
		out.addFiles(found)
		slices.SortFunc(out.Files, func(a, b named) int { return strings.Compare(a.Path, b.Path) })
		return out
	}
	for part, want := range map[string]string{
		"":     `[{data/a.csv 1} {data/in.csv 2} {data/sub/deep/b.csv 2} {docs/read.txt 3} {one\xff 5}]`,
		"CSV":  "[{data/a.csv 1} {data/in.csv 2} {data/sub/deep/b.csv 2}]",
		"none": "[]",
	} {
		out := look(part, "100", "1000")
		if got := fmt.Sprint(out.Files); got != want || out.FilesTotal != 0 || out.Warning != "" {
			t.Errorf("%q: %s of %d, want %s; %s", part, got, out.FilesTotal, want, out.Warning)
		}
	}
	if out := look("", "2", "1000"); len(out.Files) != 2 || out.FilesTotal != 5 || out.Warning != "" {
		t.Errorf("two are listed: %+v", out)
	}
	if out := look("", "100", "2"); len(out.Files) > 3 || !strings.Contains(out.Warning, "more files") {
		t.Errorf("two are looked at: %+v", out)
	}
}

// TestBuildsOfDebian: a build of a package that Debian has as a distribution of its own is that package, once.
func TestBuildsOfDebian(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"sdxone/__init__.py": "", "sdx_two/__init__.py": "",
		"sdxone-3.7.egg-info/PKG-INFO":                            "Metadata-Version: 2.1\nName: sdxone\nVersion: 3.7\n",
		"sdxone-3.7.egg-info/top_level.txt":                       "sdxone\n",
		"sdxone._debian_sdxone_serial-3.7.egg-info/PKG-INFO":      "Metadata-Version: 2.1\nName: sdxone.-debian-sdxone-serial\nVersion: 3.7\n",
		"sdxone._debian_sdxone_serial-3.7.egg-info/top_level.txt": "sdxone\n",
		"sdx_two-1.egg-info/PKG-INFO":                             "Metadata-Version: 2.1\nName: sdx.two-debian\nVersion: 1\n",
		"sdx_two-1.egg-info/top_level.txt":                        "sdx_two\n",
	} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("python3", "-c", environmentProgram, "", "0", "0")
	cmd.Env, cmd.Stderr = append(os.Environ(), "PYTHONPATH="+top), os.Stderr
	printed, err := cmd.Output()
	var found seen
	if err == nil {
		err = json.Unmarshal(printed, &found)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out environment
	out.addPackages(found, "sdx")
	if want := []string{"sdx.two-debian==1 (import sdx_two)", "sdxone==3.7"}; !slices.Equal(out.Packages, want) {
		t.Errorf("%q, want %q", out.Packages, want)
	}
}
