package outputs

import (
	"fmt"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Pattern is a glob of whole paths, as for declared outputs.
type Pattern struct{ globs globs }

// ParsePattern checks a glob.
func ParsePattern(glob string) (Pattern, error) {
	compiled, err := compileWhole([]string{glob})
	if err != nil {
		return Pattern{}, fmt.Errorf("path %w", err)
	}
	return Pattern{compiled}, nil
}

// Match reports whether a path matches.
func (p Pattern) Match(path []byte) bool {
	return doublestar.MatchUnvalidated(p.globs[0], string(path))
}

// compileWhole is compile for globs of whole paths: "dir/" is everything below dir.
func compileWhole(patterns []string) (globs, error) {
	compiled, err := compile(patterns)
	if err != nil {
		return nil, err
	}
	for i, p := range patterns {
		if strings.HasSuffix(p, "/") {
			compiled[i] += "/**"
		}
	}
	return compiled, nil
}
