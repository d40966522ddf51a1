// Package docs compares documents that no test executes with what they describe.
package docs

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestDependencies: docs/dependencies.md has exactly the modules of the programs, each with a reason or among those that come through others.
func TestDependencies(t *testing.T) {
	text, err := os.ReadFile("../../docs/dependencies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if cells := strings.Split(strings.TrimSpace(line), "|"); strings.HasPrefix(line, "| `") {
			rows[strings.Trim(cells[1], " `")] = strings.TrimSpace(cells[len(cells)-2])
		}
		if others, ok := strings.CutPrefix(line, "Through these come "); ok {
			for _, module := range strings.Split(strings.TrimSpace(strings.TrimSuffix(others, ".\n")), ", ") {
				rows[strings.Trim(module, "`")] = "through another"
			}
		}
	}
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}{{end}}{{end}}"
	list := exec.Command("go", "list", "-deps", "-f", format, "./cmd/...")
	list.Dir, list.Stderr = "../..", os.Stderr
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	linked := map[string]bool{}
	for _, module := range strings.Fields(string(out)) {
		if linked[module] = true; rows[module] == "" {
			t.Errorf("%s has no reason in docs/dependencies.md: run scripts/dependencies.py, and write one", module)
			rows[module] = "reported"
		}
	}
	for module := range rows {
		if !linked[module] {
			t.Errorf("%s is in docs/dependencies.md and in no program: run scripts/dependencies.py", module)
		}
	}
}
