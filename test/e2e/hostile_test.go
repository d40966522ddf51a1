package e2e

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// hostileVerdicts are what becomes of the tree of hostile.py, by the exact bytes of the names: "output",
// or why not.
func hostileVerdicts(secrets int) map[string]string {
	want := map[string]string{
		"shadow": "symlink", "descriptor": "symlink", "loop-a": "symlink", "loop-b": "symlink", "here": "symlink",
		"inside": "symlink", "swapped/root": "symlink", "fifo": "fifo", "socket": "socket", "sparse": "too_large",
		"deep" + strings.Repeat("/d", 255): "too_deep",
	}
	for i := range secrets {
		for _, kind := range []string{"absolute", "relative", "magic"} {
			want[fmt.Sprintf("%s-%d", kind, i)] = "symlink"
		}
	}
	for _, path := range []string{
		"good.txt", "one-name", "other-name", "mode-000", "closed/file", "unreadable-but-open/file", "data",
		"new\nline", "esc\x1b[31mred", "\xff\xfe", "-rf", " ", strings.Repeat("a", 255), "...", "*", `\x41`, "\u202egnp.exe",
	} {
		want[path] = "output"
	}
	return want
}

// secretFiles are files of the host with a text that must not turn up anywhere.
func secretFiles(t *testing.T, text string) []string {
	t.Helper()
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, dir := range []string{t.TempDir(), home, "/var/tmp"} {
		path := filepath.Join(dir, text)
		writeFile(t, path, text, 0o644)
		t.Cleanup(func() { os.Remove(path) })
		paths = append(paths, path)
	}
	return paths
}

// TestHostileHarvest lets an analysis leave what a harvest should fear.
func TestHostileHarvest(t *testing.T) {
	h := newHarness(t)
	h.write("data/table", "", 0o644)
	canary := h.id("canary")
	secrets := secretFiles(t, canary)
	r := h.analysis("hostile.py", []string{"--data", "data"}, secrets...)
	r.expect(t, "complete", "exit", 0)
	got := map[string]string{}
	for _, o := range r.Outputs {
		got[exact(o.Path, o.PathB64)] = "output"
	}
	for _, e := range r.Rejected {
		got[exact(e.Path, e.PathB64)] = e.Reason
	}
	want := hostileVerdicts(len(secrets))
	for path, verdict := range want {
		if got[path] != verdict {
			t.Errorf("%.80q: %q, want %q", path, got[path], verdict)
		}
	}
	for path, verdict := range got {
		if want[path] == "" {
			t.Errorf("unexpected %.80q: %s", path, verdict)
		}
	}
	h.checkHostileContents(r, canary)
}

// exact returns the bytes of a name.
func exact(path string, raw []byte) string {
	if len(raw) > 0 {
		return string(raw)
	}
	return path
}

func (h *harness) checkHostileContents(r result, canary string) {
	h.t.Helper()
	for _, o := range r.Outputs {
		path, content := exact(o.Path, o.PathB64), h.blob(o.SHA256)
		known := content == "harmless" || content == "named" || path == "data" && content == "not the link"
		if !known {
			h.t.Errorf("%q holds %.80q", path, content)
		}
	}
	for _, e := range r.Rejected {
		if e.Path == "shadow" && e.Detail != "-> /etc/shadow" {
			h.t.Errorf("detail of a symlink: %q", e.Detail)
		}
		if e.Reason == "too_deep" && !strings.Contains(e.Detail, "4746 below it") { // 4,745 directories and a file
			h.t.Errorf("detail of the deep tree: %q", e.Detail)
		}
		if e.Path == "sparse" && !strings.Contains(e.Detail, "1.001GiB; the bound is 1GiB") {
			h.t.Errorf("detail of the sparse file: %q", e.Detail)
		}
	}
	err := filepath.WalkDir(filepath.Join(h.root, "blobs"), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Base(path) == r.Script.SHA256 {
			return err
		}
		if text := readFile(h.t, path); strings.Contains(text, canary) || strings.Contains(text, "root:") {
			h.t.Errorf("blob %s holds something of the host: %.80q", path, text)
		}
		return nil
	})
	if err != nil {
		h.t.Error(err)
	}
	// The names that are shown are harmless, and the exact ones come back from the export.
	for _, text := range []string{h.mustRun("show", r.ID).stdout, h.mustRun("outputs", "ls", r.ID).stdout} {
		if strings.ContainsAny(text, "\x1b\u202e") || !utf8.ValidString(text) {
			h.t.Errorf("control characters are printed: %q", text)
		}
	}
	h.mustRun("outputs", "export", r.ID, "exported")
	for path, verdict := range hostileVerdicts(0) {
		info, err := os.Lstat(filepath.Join(h.path("exported"), path))
		if (err == nil && info.Mode().IsRegular()) != (verdict == "output") {
			h.t.Errorf("%.80q in the export: %v, %v", path, info, err)
		}
	}
}

// TestKeptTreeIsTheCallers keeps the same tree: its owner can look at it and delete it by ordinary means.
func TestKeptTreeIsTheCallers(t *testing.T) {
	h := newHarness(t)
	h.write("data/table", "", 0o644)
	r := h.analysis("hostile.py", []string{"--data", "data", "--keep", "always"}, secretFiles(t, h.id("canary"))...)
	r.expect(t, "complete", "exit", 0)
	dir := "/tmp/scidex-analysis-" + r.ID
	if r.Kept != dir || len(r.Warnings) > len(warningsOf(t, h)) {
		t.Errorf("kept %q, want %s; warnings %q", r.Kept, dir, r.Warnings)
	}
	for path, verdict := range hostileVerdicts(0) {
		if verdict != "output" {
			continue
		}
		info, err := os.Lstat(filepath.Join(dir, path))
		if err != nil || info.Mode()&0o600 != 0o600 {
			t.Errorf("kept %.80q: %v, %v", path, info, err)
		}
	}
	if got := readFile(t, filepath.Join(dir, "closed", "file")); got != "harmless" {
		t.Errorf("kept closed/file holds %q", got)
	}
	if c := h.gc(); slices.Contains(slices.Concat(c.Removed, c.Foreign), dir) || len(matches(dir)) != 1 {
		t.Errorf("gc about a kept directory: %+v", c)
	}
	// Deep trees are beyond os.RemoveAll's descriptors on some hosts; rm goes down one at a time.
	if out := h.finish(h.command("rm", "-r", dir)); out.code != 0 {
		t.Errorf("rm -r: %s", out.stderr)
	}
}

// warningsOf are the warnings of every run of this host.
func warningsOf(t *testing.T, h *harness) []string {
	t.Helper()
	r := h.start("--id", h.newID(), "--", "true")
	return r.Warnings
}

// TestKeptDirectories keeps directories as --keep says, without files of scidex-oci in them, and rm removes them.
func TestKeptDirectories(t *testing.T) {
	for _, c := range []struct {
		keep, command string
		kept          bool
	}{
		{"always", "true", true},
		{"failed", "true", false},
		{"failed", "false", true},
		{"never", "false", false},
	} {
		t.Run(c.keep+" "+c.command, func(t *testing.T) {
			h := newHarness(t)
			h.write("data/table", "", 0o644)
			r := h.start("--id", h.newID(), "--data", "data", "--keep", c.keep, "--", "sh", "-c",
				"echo x >a; mkdir work; echo y >work/b; chmod 0 a; "+c.command)
			dir := "/tmp/scidex-analysis-" + r.ID
			if !c.kept {
				if r.Kept != "" || len(matches(dir)) > 0 {
					t.Errorf("kept %q, there is %q", r.Kept, matches(dir))
				}
				return
			}
			found := slices.Sorted(maps.Keys(snapshot(t, dir)))
			if want := []string{dir, dir + "/a", dir + "/work", dir + "/work/b"}; !slices.Equal(found, want) {
				t.Errorf("kept %q, want %q", found, want)
			}
			h.mustRun("rm", r.ID)
			if len(matches(dir)) > 0 {
				t.Error("rm left the kept directory")
			}
		})
	}
}
