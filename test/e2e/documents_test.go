package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// blocks are the fenced blocks of a Markdown file: the info string and the text of each.
var blocks = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

// TestDocumentedCommands executes the shell blocks of each document, one after the other. What needs more than a test has, such as
// a registry, is in blocks of text.
func TestDocumentedCommands(t *testing.T) {
	others := map[string]string{
		"agents.md":    "it needs a client of MCP",
		"s3.md":        "TestS3Document",
		"workflows.md": "scripts/test.d/cwl",
	}
	documents := []string{"../../README.md"}
	for _, document := range matches("../../docs/*.md") {
		if others[filepath.Base(document)] == "" && strings.Contains(readFile(t, document), "\n```sh\n") {
			documents = append(documents, document)
		}
	}
	if len(documents) < 14 {
		t.Errorf("only %q have commands", documents)
	}
	for _, document := range documents {
		t.Run(filepath.Base(document), func(t *testing.T) {
			t.Parallel()
			script, rest := shellOf(t, document)
			if strings.Contains("\n"+rest, "\nscidex-oci ") {
				t.Errorf("a command is in a block that is not executed (```sh): %s", rest)
			}
			h := newHarness(t)
			h.setenv("PATH", filepath.Dir(theHost.bin)+":"+os.Getenv("PATH"))
			h.setenv("SCIDEX_OCI_TMP", t.TempDir()) // ids in documents are the same for every copy of this test
			if out := h.finish(h.command("bash", "-euxc", script)); out.code != 0 {
				t.Errorf("exit code %d\n%s%s", out.code, out.stdout, out.stderr)
			}
		})
	}
}

// shellOf returns the shell blocks of a document, and those without a language.
func shellOf(t *testing.T, path string) (shell, plain string) {
	t.Helper()
	for _, block := range blocks.FindAllStringSubmatch(readFile(t, path), -1) {
		switch block[1] {
		case "sh":
			shell += block[2]
		case "":
			plain += block[2]
		}
	}
	if shell == "" {
		t.Fatalf("%s has no shell block", path)
	}
	return shell, plain
}
