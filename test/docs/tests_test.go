package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var testName = regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]*`)

// TestTableOfTests: each quick test in the table of CONTRIBUTING.md is in the tier e2e, and each other one in a tier of
// rest.
func TestTableOfTests(t *testing.T) {
	defined := map[string]bool{}
	for _, file := range glob(t, "../e2e/*_test.go") {
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(t, file), -1) {
			defined[found[1]] = true
		}
	}
	long, rest := map[string]bool{}, map[string]bool{}
	for _, file := range glob(t, "../e2e/*/tests") {
		named := regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(read(t, file), "")
		for _, name := range testName.FindAllString(named, -1) {
			rest[name] = true
			switch filepath.Base(filepath.Dir(file)) {
			case "long", "images", "slurm":
				long[name] = true
			}
		}
	}
	rows := 0
	for line := range strings.Lines(read(t, "../../CONTRIBUTING.md")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 || !testName.MatchString(cells[3]) {
			continue
		}
		rows++
		for _, name := range testName.FindAllString(cells[3], -1) {
			if !defined[name] || long[name] {
				t.Errorf("%s stands for %q, and is not in the quick set", name, strings.TrimSpace(cells[2]))
			}
		}
		for _, name := range testName.FindAllString(cells[4], -1) {
			if !rest[name] {
				t.Errorf("%s stands for %q, and is in no tier of rest", name, strings.TrimSpace(cells[2]))
			}
		}
	}
	if rows < 40 {
		t.Errorf("the table has %d rows", rows)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) == 0 {
		t.Fatalf("%s: %v, %v", pattern, found, err)
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
