package app

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDocs(t *testing.T) {
	code, _, stderr := runProgram(t, "docs", "--dir", "man")
	if code != 0 {
		t.Fatal(stderr)
	}
	for _, name := range []string{
		"scidex-oci.1", "scidex-oci-run.1", "scidex-oci-outputs-export.1", "scidex-oci.bash", "scidex-oci.zsh", "scidex-oci.fish",
	} {
		if data, err := os.ReadFile(filepath.Join("man", name)); err != nil || len(data) < 200 {
			t.Errorf("%s: %d bytes, %v", name, len(data), err)
		}
	}
	if _, err := os.Stat("man/scidex-oci-docs.1"); err == nil {
		t.Error("the hidden command has a page")
	}
	page, err := os.ReadFile("man/scidex-oci-run.1")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{".TH \"SCIDEX-OCI-RUN\" 1", `\fB\-\-memory\fR \fISIZE\fR`, `\fB\-f\fR, \fB\-\-file\fR`, ".SH EXAMPLES\n", ".SH INPUTS\n.TP\n", ".SH RUNNING\n"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("no %q in scidex-oci-run.1", want)
		}
	}
	if bytes.Contains(page, []byte("\n.nf\n")) {
		t.Error("scidex-oci-run.1 has lines that are not filled, which a terminal breaks inside of words")
	}
	if bytes.ContainsRune(page, '`') {
		t.Error("a backquote in scidex-oci-run.1")
	}
}

// bash is essential on Debian, so it is there to test with.
func TestBashCompletion(t *testing.T) {
	var script bytes.Buffer
	if err := bashCompletion(&script, newApp(wholeProgram())); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ line, want string }{
		{"scidex-oci ru", "run"},
		{"scidex-oci outputs ex", "export"},
		{"scidex-oci run --mem", "--memory"},
		{"scidex-oci run --keep f", "failed"},
		{"scidex-oci outputs ls --js", "--json"},
		{"scidex-oci ls --unt", "--until"},
		{"scidex-oci --root /r sh", "show"},
		{"scidex-oci init", ""},
	}
	for _, test := range tests {
		words := strings.Fields(test.line)
		quoted := "'" + strings.Join(words, "' '") + "'"
		code := script.String() + "\nCOMP_WORDS=(" + quoted + "); COMP_CWORD=$((${#COMP_WORDS[@]}-1)); _scidex_oci; echo \"${COMPREPLY[*]}\"\n"
		bash := exec.Command("bash", "--norc", "-u", "-c", code)
		bash.Dir = t.TempDir()
		out, err := bash.CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != test.want {
			t.Errorf("%q: %q, %v, want %q", test.line, out, err, test.want)
		}
	}
}

func TestOtherShellsNameEveryCommandAndFlag(t *testing.T) {
	app := newApp(wholeProgram())
	for shell, form := range map[string]string{"zsh": "--%s", "fish": "-l %s"} {
		var script bytes.Buffer
		if err := completions()[shell](&script, app); err != nil {
			t.Fatal(err)
		}
		for _, l := range leaves(app.Commands) {
			if !strings.Contains(script.String(), l.command.Name) {
				t.Errorf("%s: no %q", shell, l.path)
			}
			for _, o := range flagDocs(l.command.Flags) {
				if flag := strings.ReplaceAll(form, "%s", o.Names[0]); !strings.Contains(script.String(), flag) {
					t.Errorf("%s: no %s", shell, flag)
				}
			}
		}
	}
}
