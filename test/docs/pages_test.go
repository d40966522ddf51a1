package docs

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestStartPage: each page is linked from docs/README.md, so that all can be found.
func TestStartPage(t *testing.T) {
	linked := map[string]bool{"README.md": true}
	for _, found := range mdLink.FindAllStringSubmatch(read(t, "../../docs/README.md"), -1) {
		path, _, _ := strings.Cut(found[1], "#")
		linked[filepath.Clean(path)] = true
	}
	for _, pattern := range []string{"*.md", "ci/*.md", "reference/*.md"} {
		for _, file := range glob(t, "../../docs/"+pattern) {
			if name, err := filepath.Rel("../../docs", file); err != nil || !linked[name] {
				t.Errorf("docs/README.md does not lead to %s (%v)", name, err)
			}
		}
	}
}
