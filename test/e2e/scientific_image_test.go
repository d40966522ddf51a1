package e2e

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/examples/check"
)

// recipeImage imports an image of scripts/build-rootfs, which scripts/test builds once for each recipe.
func (h *harness) recipeImage(name string) {
	h.t.Helper()
	variable := "SCIDEX_OCI_TEST_IMAGES"
	dir := os.Getenv(variable)
	if dir == "" {
		h.t.Skipf("%s names no directory with %s.oci.tar: scripts/test builds it (scripts/rootfs-image %s)", variable, name, name)
	}
	h.mustRun("image", "import", filepath.Join(dir, name+".oci.tar"), "--name", name)
}

// TestScientific runs the image scientific: its libraries, the examples that draw with matplotlib, a notebook; and
// reads its package list.
func TestScientific(t *testing.T) {
	h := newHarness(t)
	h.recipeImage("scientific")
	t.Run("libraries", func(t *testing.T) { h.in(t).scientificLibraries() })
	t.Run("ready", func(t *testing.T) { h.in(t).compareSituations(manifest{"rootfs": "scientific"}) })
	t.Run("starts", func(t *testing.T) { h.in(t).compareStarts("testdata/starts/*.py", manifest{"rootfs": "scientific"}) })
	t.Run("notebook", func(t *testing.T) { h.in(t).scientificNotebook() })
	t.Run("packages", func(t *testing.T) { h.in(t).checkPackages("scientific", "python3-numpy", "r-base-core") })
	for name, check := range map[string]func(dataDir, outDir string) error{
		"brain-networks": check.BrainNetworks,
		"penguins":       check.Penguins,
		"fmri":           check.FMRI,
	} {
		t.Run(name, func(t *testing.T) { h.in(t).scientificExample(name, check) })
	}
}

func (h *harness) scientificLibraries() {
	script := testdata(h.t, "scientific_versions.py")
	r := h.start("--id", h.newID(), "--rootfs", "scientific", "--script", script, "--cpus", "2")
	r.expect(h.t, "complete", "exit", 0)
	if said := h.stdoutOf(r); !strings.Contains(said, `"statsmodels": "`) || r.AuditTotal != 0 {
		h.t.Errorf("said %q%q, audit %q", said, h.stderrOf(r), r.said())
	}
	if paths := pathsOf(r); paths != "plot.pdf plot.png r.png table.csv" {
		h.t.Errorf("outputs: %s", paths)
	}
}

func (h *harness) scientificNotebook() {
	text := notebook(h.t, "python3", "python", "%matplotlib inline\nimport matplotlib.pyplot as plt\nplt.plot([1, 3, 2]);", "6 * 7")
	r := h.runNotebook(text, "--rootfs", "scientific")
	r.expect(h.t, "complete", "exit", 0)
	n := h.executedNotebook(r, "study.ipynb")
	if !strings.Contains(n.cell(0), "image/png") || !strings.Contains(n.cell(1), "42") || r.AuditTotal != 0 {
		h.t.Errorf("the notebook was saved as %.300s, %s, audit %q", n.cell(0), n.cell(1), r.said())
	}
}

func (h *harness) scientificExample(name string, check func(dataDir, outDir string) error) {
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		h.t.Fatal(err)
	}
	out := name + ".out"
	r := h.start("--id", h.newID(), "-f", filepath.Join(examples, name, "scientific.yaml"), "--export", out)
	r.expect(h.t, "complete", "exit", 0)
	if err := check(filepath.Join(examples, "data"), h.path(out)); err != nil {
		h.t.Error(err)
	}
	if !strings.Contains(pathsOf(r), ".png") {
		h.t.Errorf("no picture among %s", pathsOf(r))
	}
}

func pathsOf(r result) string {
	var paths []string
	for _, output := range r.Outputs {
		paths = append(paths, output.Path)
	}
	return strings.Join(paths, " ")
}

// TestSmallPython runs the image python: all modules of the standard library load, a shell is there, and unpacked
// it has less than 60 MB.
func TestSmallPython(t *testing.T) {
	h := newHarness(t)
	h.recipeImage("python")
	r := h.start("--id", h.newID(), "--rootfs", "python", "--", "python3", "-W", "ignore", "-c", `
import importlib.util, os, subprocess, sys, zoneinfo
gone = {"nis", "_dbm", "idlelib", "lib2to3", "turtle", "turtledemo", "tkinter", "_tkinter", "pydoc_data", "ensurepip"}
other = {"antigravity", "this", "msilib", "winreg", "winsound", "msvcrt", "nt", "ntpath"}
for name in sorted(sys.stdlib_module_names - gone - other):
    if importlib.util.find_spec(name): importlib.import_module(name)
    elif not name.startswith("_") : print("no", name)
assert subprocess.check_output("echo $((6 * 7))", shell=True) == b"42\n"
print(zoneinfo.ZoneInfo("Europe/Berlin"), sum(1 for _ in os.scandir("/usr/lib/python3.11/__pycache__")) > 100)
top = os.stat("/usr").st_dev
size = sum(os.lstat(os.path.join(d, f)).st_size for d, _, fs in os.walk("/usr") for f in fs)
print("small" if size < 60e6 else size)`)
	r.expect(t, "complete", "exit", 0)
	if said := h.stdoutOf(r); said != "Europe/Berlin True\nsmall\n" {
		t.Errorf("said %q%q", said, h.stderrOf(r))
	}
	h.checkPackages("python", "python3", "libc6")
}

// spdx is what is checked of an SPDX 2.3 document (https://spdx.github.io/spdx-spec/v2.3/).
type spdx struct {
	Version   string `json:"spdxVersion"`
	License   string `json:"dataLicense"`
	ID        string `json:"SPDXID"`
	Name      string `json:"name"`
	Namespace string `json:"documentNamespace"`
	Creation  struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	} `json:"creationInfo"`
	Packages []struct {
		ID        string `json:"SPDXID"`
		Name      string `json:"name"`
		Version   string `json:"versionInfo"`
		Download  string `json:"downloadLocation"`
		Purpose   string `json:"primaryPackagePurpose"`
		Checksums []struct {
			Algorithm string `json:"algorithm"`
			Value     string `json:"checksumValue"`
		} `json:"checksums"`
	} `json:"packages"`
	Relationships []struct {
		From string `json:"spdxElementId"`
		Kind string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	} `json:"relationships"`
}

// checkPackages reads an image's package list, whose digest the result has, and compares it with SPDX's rules and
// with what dpkg had installed.
func (h *harness) checkPackages(image string, among ...string) {
	h.t.Helper()
	r := h.start("--id", h.newID(), "--rootfs", image, "--", "cp", "/usr/share/scidex/packages.spdx.json", "/var/lib/dpkg/status", ".")
	r.expect(h.t, "complete", "exit", 0)
	if len(r.Outputs) != 2 {
		h.t.Fatalf("outputs: %s", pathsOf(r))
	}
	text := h.blob(r.Outputs[0].SHA256)
	if digest := fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text))); r.Sandbox.Packages == nil || *r.Sandbox.Packages != digest {
		h.t.Errorf("the package list has %s, the result says %v", digest, r.Sandbox.Packages)
	}
	var list spdx
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		h.t.Fatal(err)
	}
	for _, problem := range list.problems(image) {
		h.t.Error(problem)
	}
	installed := map[string]string{}
	for _, line := range regexp.MustCompile(`(?m)^Package: (.*)$`).FindAllStringSubmatch(h.blob(r.Outputs[1].SHA256), -1) {
		installed[line[1]] = ""
	}
	for _, p := range list.Packages {
		delete(installed, p.Name)
	}
	if len(installed) > 0 || len(list.Packages) < 20 {
		h.t.Errorf("%d packages in the list, these are not: %v", len(list.Packages), installed)
	}
	for _, name := range among {
		if !strings.Contains(text, `"name": "`+name+`"`) {
			h.t.Errorf("%s is not in the list", name)
		}
	}
}

// problems are violations of the rules for SPDX documents or of this project's own.
func (s spdx) problems(name string) (problems []string) {
	require := func(ok bool, format string, args ...any) {
		if !ok {
			problems = append(problems, fmt.Sprintf(format, args...))
		}
	}
	require(s.Version == "SPDX-2.3" && s.License == "CC0-1.0" && s.ID == "SPDXRef-DOCUMENT" && s.Name == name, "head: %.200v", s)
	namespace, err := url.Parse(s.Namespace)
	require(err == nil && namespace.IsAbs() && namespace.Fragment == "", "namespace %q", s.Namespace)
	_, err = time.Parse("2006-01-02T15:04:05Z", s.Creation.Created)
	require(err == nil && len(s.Creation.Creators) > 0, "creation %v", s.Creation)
	ids, contained := map[string]bool{s.ID: true}, map[string]bool{}
	wellFormed, digest := regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`), regexp.MustCompile(`^[0-9a-f]{64}$`)
	for _, p := range s.Packages {
		require(wellFormed.MatchString(p.ID) && !ids[p.ID], "id %q", p.ID)
		require(p.Name != "" && p.Download != "" && (p.Version != "" || p.Purpose == "CONTAINER"), "package %v", p)
		require(p.Purpose == "CONTAINER" || len(p.Checksums) == 1 && p.Checksums[0].Algorithm == "SHA256" &&
			digest.MatchString(p.Checksums[0].Value), "checksums of %v", p)
		ids[p.ID] = true
	}
	for _, r := range s.Relationships {
		require(ids[r.From] && ids[r.To] && !contained[r.To], "relationship %v", r)
		require(r.Kind == "CONTAINS" || r.Kind == "DESCRIBES" && r.From == s.ID, "relationship %v", r)
		contained[r.To] = true
	}
	require(len(contained) == len(s.Packages), "%d of %d packages are contained", len(contained), len(s.Packages))
	return problems
}
