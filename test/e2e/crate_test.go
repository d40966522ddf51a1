package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The crate of a run is whole, names what was executed, and has no secret; a change of it is found.
func TestCrate(t *testing.T) {
	h := newHarness(t)
	h.setenv("TOKEN", "hunter2-and-more")
	script := filepath.Join(h.dir, "fit.sh")
	if err := os.WriteFile(script, []byte("echo done; echo a,b >'table 1.csv'; printf x >\"$(printf 'odd\\377')\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	r := h.start("--env", "LEVEL=3", "--secret", "TOKEN", "--script", script)
	r.expect(t, "complete", "exit", 0)
	top := t.TempDir()
	for _, to := range []string{filepath.Join(top, "crate"), filepath.Join(top, "crate.zip")} {
		h.mustRun("crate", r.ID, "-o", to, "--license", "https://example.org/license", "--agent", "Ada")
		if out := h.mustRun("verify", to).stdout; !strings.HasPrefix(out, "5 files,") {
			t.Errorf("verify %s: %s", to, out)
		}
		h.mustRefuse([]string{"crate", r.ID, "-o", to}, "exists")
	}
	h.mustRun("outputs", "export", r.ID, filepath.Join(top, "export"))
	inCrate, err := os.ReadFile(filepath.Join(top, "crate", "scidex-result.json"))
	if err != nil {
		t.Fatal(err)
	}
	if exported, err := os.ReadFile(filepath.Join(top, "export", "scidex-result.json")); err != nil || string(exported) != string(inCrate) {
		t.Errorf("%v; scidex-result.json is exported as\n%s\nand in the crate\n%s", err, exported, inCrate)
	}
	metadata, err := os.ReadFile(filepath.Join(top, "crate", "ro-crate-metadata.json"))
	if err != nil || !json.Valid(metadata) {
		t.Fatalf("%v in\n%s", err, metadata)
	}
	for _, want := range []string{`"script/fit.sh"`, `"outputs/table%201.csv"`, `"LEVEL"`, `"Ada"`, `"https://example.org/license"`, `odd\\xff`, `#cpu_ms"`} {
		if !strings.Contains(string(metadata), want) {
			t.Errorf("no %s in the metadata:\n%s", want, metadata)
		}
	}
	err = filepath.WalkDir(filepath.Join(top, "crate"), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), "hunter2") {
			t.Errorf("%s tells the secret", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(top, "crate", "outputs", "table 1.csv"), []byte("a,c\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := h.do("verify", filepath.Join(top, "crate")); out.code != 1 || out.stdout != "outputs/table 1.csv: changed: its digest is another\n" {
		t.Errorf("a changed crate: exit code %d\n%s%s", out.code, out.stdout, out.stderr)
	}
}
