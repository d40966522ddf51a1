package outputs

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// globs are validated patterns.
type globs []string

func compile(patterns []string) (globs, error) {
	out := make(globs, 0, len(patterns))
	for _, p := range patterns {
		clean := strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/")
		if clean == "" || !doublestar.ValidatePattern(clean) {
			return nil, fmt.Errorf("%q: not a glob; a literal [, {, * or ? is written after a backslash", p)
		}
		out = append(out, clean)
	}
	return out, nil
}

// match returns the first glob that matches the path or, if the glob has no slash, the last component.
func (g globs) match(path []byte, base string) (string, bool) {
	for _, p := range g {
		name := string(path)
		if !strings.Contains(p, "/") {
			name = base
		}
		if doublestar.MatchUnvalidated(p, name) {
			return p, true
		}
	}
	return "", false
}
