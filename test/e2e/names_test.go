package e2e

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// names are what a hostile or careless analysis calls its files. The shown form is for a terminal.
var names = []struct{ name, shown string }{
	{"two\nlines", `two\nlines`},
	{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
	{"\xff", `\xff`},
	{"-rf", "-rf"},
	{"--json", "--json"},
	{"a b", "a b"},
	{" ", " "},
	{"back\\slash", `back\slash`},
	{"quote\"'`$(id)", "quote\"'`$(id)"},
	{"ünï/cödé", "ünï/cödé"},
	{"bidi\u202egnp", `bidi\u202egnp`},
	{"\ufeffmark\u200f\u200b", `\ufeffmark\u200f\u200b`},
	{"tags\U000e0041", `tags\U000e0041`},
	{"👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"},
	{"\u009b31m", `\u009b31m`},
	{"tab\t", `tab\t`},
	{"*?[", "*?["},
	{strings.Repeat("n", 255), strings.Repeat("n", 255)},
}

func TestNamesSurvive(t *testing.T) {
	h := newHarness(t)
	id := h.id("n")
	r := h.start("--id", id, "--script", writeNames(h))
	r.expect(t, "complete", "exit", 0)
	if len(r.Outputs) != len(names) || len(r.Rejected) != 0 {
		t.Errorf("%d outputs of %d: %q; rejected %+v", len(r.Outputs), len(names), r.paths(), r.Rejected)
	}
	listed := h.listOutputs(id)
	h.mustRun("outputs", "export", id, "out")
	for _, n := range names {
		content := "content of " + n.name
		for _, list := range [][]output{r.Outputs, listed} {
			if o := named(list, n.name); o.SHA256 != digest([]byte(content)) || o.Size != int64(len(content)) {
				t.Errorf("%q is listed as %+v", n.name, o)
			}
		}
		if got, err := os.ReadFile(filepath.Join(h.dir, "out", n.name)); err != nil || string(got) != content {
			t.Errorf("%q was exported as %q, %v", n.name, got, err)
		}
		for _, form := range []string{n.name, n.shown} {
			if got := h.mustRun("outputs", "cat", "--", id, form).stdout; got != content {
				t.Errorf("cat %q gives %q", form, got)
			}
		}
	}
}

func writeNames(h *harness) (script string) {
	var all []string
	for _, n := range names {
		all = append(all, base64.StdEncoding.EncodeToString([]byte(n.name)))
	}
	return h.write("names.py", fmt.Sprintf(`
import base64, os
for name in map(base64.b64decode, %q.split()):
    if b"/" in name:
        os.makedirs(os.path.dirname(name))
    with open(name, "wb") as f:
        f.write(b"content of " + name)
`, strings.Join(all, " ")), 0o644)
}

// named finds an output by its exact name.
func named(list []output, name string) output {
	i := slices.IndexFunc(list, func(o output) bool {
		if o.PathB64 != nil {
			return string(o.PathB64) == name && !utf8.ValidString(name)
		}
		return o.Path == name
	})
	if i < 0 {
		return output{}
	}
	return list[i]
}

// listOutputs reads outputs ls --json, which must list nothing but outputs.
func (h *harness) listOutputs(id string) (list []output) {
	h.t.Helper()
	for line := range strings.Lines(h.mustRun("outputs", "ls", "--json", id).stdout) {
		var o struct {
			Verdict string `json:"verdict"`
			output
		}
		if err := json.Unmarshal([]byte(line), &o); err != nil || o.Verdict != "output" {
			h.t.Errorf("%v: %s", err, line)
		}
		list = append(list, o.output)
	}
	return list
}

// What is printed for people holds no character of a name that a terminal would act on.
func TestNamesAreShownEscaped(t *testing.T) {
	h := newHarness(t)
	id := h.id("n")
	table := h.mustRun("run", "--id", id, "--label", "k=ä", "--script", writeNames(h)).stderr
	for what, text := range map[string]string{
		"the closing table": table, "show": h.mustRun("show", id).stdout, "outputs ls": h.mustRun("outputs", "ls", id).stdout,
		"show --json": h.mustRun("show", "--json", id).stdout, "outputs ls --json": h.mustRun("outputs", "ls", "--json", id).stdout,
		"a name that is not there": h.do("outputs", "cat", "--", id, "\x1b]0;x\x07").stderr,
		"a run that is not there":  h.do("show", "\x1b]0;x\x07").stderr,
	} {
		if i := strings.IndexFunc(text, acts); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("%s: a terminal would act on %q", what, text[max(i, 0):min(max(i, 0)+20, len(text))])
		}
	}
	for _, n := range names {
		if listed := h.mustRun("outputs", "ls", id).stdout; !strings.Contains(listed, n.shown) {
			t.Errorf("outputs ls does not show %q:\n%s", n.shown, listed)
		}
	}
}

// acts reports whether a terminal may do something other than print, or hides r: controls of ASCII and C1, and the characters of
// Unicode for format and lines but for the joiners of words and emoji.
func acts(r rune) bool {
	return r != '\n' && r < ' ' || r >= 0x7f && r < 0xa0 || r != '\u200c' && r != '\u200d' && unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

func TestExport(t *testing.T) {
	h := newHarness(t)
	id := h.id("x")
	h.start(append(flags("--id", id), shell("mkdir sub; echo one >a.txt; echo two >sub/b.txt; chmod 700 a.txt; ln -s a.txt link")...)...)
	h.write("full/other.txt", "mine\n", 0o644)
	h.mustRefuse(flags("outputs", "export", id, "full"), "full", "not empty", "--overwrite")
	if entries := matches(h.path("full/*")); len(entries) != 1 {
		t.Errorf("a refused export made %q", entries)
	}
	h.mustRun("outputs", "export", "--overwrite", id, "full")
	h.mustRun("outputs", "export", id, "new/deep")
	if got := matches(h.path("full/*")); !slices.Equal(got, []string{h.path("full/a.txt"), h.path("full/other.txt"), h.path("full/scidex-result.json"), h.path("full/sub")}) {
		t.Errorf("exported %q", got)
	}
	for _, o := range h.listAll(id) {
		if o.Verdict != "output" {
			continue
		}
		for _, dir := range []string{"full", "new/deep"} {
			sum := h.finish(h.command("sha256sum", filepath.Join(dir, o.Path))).stdout
			if !strings.HasPrefix(sum, o.SHA256+" ") {
				t.Errorf("sha256sum says %q, the catalog %q", sum, o.SHA256)
			}
		}
	}
	exported, err := os.ReadFile(h.path("new/deep/scidex-result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, exported); err != nil {
		t.Fatal(err)
	}
	if r, err := parseResult(append(line.Bytes(), '\n')); err != nil || r.ID != id {
		t.Errorf("scidex-result.json: %v", err)
	}
	if info, err := os.Stat(h.path("full/a.txt")); err != nil || info.Mode().Perm()&0o700 != 0o700 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	h.mustRefuse(flags("outputs", "cat", id, "link"), `"link"`, "rejected as symlink")
	h.mustRefuse(flags("outputs", "cat", id, "a.tx"), `"a.tx"`, `did you mean "a.txt"?`)
	h.mustRefuse(flags("outputs", "cat", id, "nothing-like-it.png"), `see "scidex-oci outputs ls `+id+`@1"`)
}

// TestExportAddsToADirectory: a run adds its outputs to a directory with other files if it is requested. A file of the
// same name is replaced, and nothing else changes.
func TestExportAddsToADirectory(t *testing.T) {
	h := newHarness(t)
	h.write("full/sub/other.txt", "mine\n", 0o644)
	h.write("full/a.txt", "before\n", 0o644)
	args := append(flags("--export", "full"), shell("mkdir sub; echo one >a.txt; echo two >sub/b.txt")...)
	h.mustRefuse(append(flags("run"), args...), "full", "not empty", "--overwrite")
	h.start(append(flags("--id", h.newID(), "--overwrite"), args...)...).expect(t, "complete", "exit", 0)
	for name, want := range map[string]string{"sub/other.txt": "mine\n", "a.txt": "one\n", "sub/b.txt": "two\n"} {
		if got := readFile(t, h.path("full/"+name)); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	if got := matches(h.path("full/*")); len(got) != 3 { // with scidex-result.json
		t.Errorf("exported %q", got)
	}
}

// listed is one line of outputs ls --json.
type listed struct {
	Verdict string `json:"verdict"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Reason  string `json:"reason"`
}

func (h *harness) listAll(id string) (all []listed) {
	h.t.Helper()
	for line := range strings.Lines(h.mustRun("outputs", "ls", "--json", id).stdout) {
		var l listed
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			h.t.Error(err)
		}
		all = append(all, l)
	}
	return all
}

// TestOutputNamedLikeTheResult: an output with the name of the exported result is in the catalog, and each export says that it has not
// written it.
func TestOutputNamedLikeTheResult(t *testing.T) {
	h := newHarness(t)
	const said = `the output "scidex-result.json" is not written, because scidex-oci writes a file of that name`
	script := []string{"sh", "-c", "echo mine >scidex-result.json; echo a >a; exit 3"}
	out := h.finish(h.command(theHost.bin, append([]string{"--root", h.root, "run", "--id", "r", "--limits", "best-effort", "--export", "out", "--"}, script...)...))
	if !strings.Contains(out.stderr, said) || !strings.Contains(out.stderr, "exported    "+h.path("out")+"\n") || strings.Contains(out.stderr, "outputs export") {
		t.Errorf("run --export:\n%s", out.stderr)
	}
	if got := h.mustRun("outputs", "cat", "r", "scidex-result.json").stdout; got != "mine\n" {
		t.Errorf("the output is %q", got)
	}
	if got := h.mustRun("show", "r").stdout; !strings.Contains(got, said) {
		t.Errorf("show:\n%s", got)
	}
	if got := h.mustRun("outputs", "export", "r", "again").stderr; !strings.Contains(got, said) {
		t.Errorf("outputs export:\n%s", got)
	}
	if got := h.mustRun("outputs", "export", "--state", "failed", "many").stderr; !strings.Contains(got, strings.ReplaceAll(said, `"`, `\"`)) {
		t.Errorf("outputs export of many:\n%s", got)
	}
	h.write("lines.jsonl", `{"id":"b","command":["sh","-c","echo mine >scidex-result.json"]}`+"\n", 0o644)
	got := h.mustRun("batch", "--json", "--limits", "best-effort", "--export", "below", "lines.jsonl")
	if !strings.Contains(got.stderr, said) || !strings.Contains(got.stdout, strings.ReplaceAll(said, `"`, `\"`)) {
		t.Errorf("batch --export:\n%s%s", got.stdout, got.stderr)
	}
}
