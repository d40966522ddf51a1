package outputs

import (
	"fmt"

	"github.com/bmatcuk/doublestar/v4"
)

// Declared holds the globs of declared outputs and which of them no output has matched yet. A glob matches whole paths;
// *** matches any number of directories, and "dir/" for everything below dir.
type Declared struct {
	globs   []string // as declared
	pattern globs
	matched []bool
	left    int
}

// NewDeclared checks the globs. An error names the invalid one.
func NewDeclared(patterns []string) (*Declared, error) {
	compiled, err := compileWhole(patterns)
	if err != nil {
		return nil, fmt.Errorf("output %w", err)
	}
	return &Declared{patterns, compiled, make([]bool, len(patterns)), len(patterns)}, nil
}

// Seen records one output's path.
func (d *Declared) Seen(path []byte) {
	if d.left == 0 {
		return
	}
	name := string(path)
	for i, p := range d.pattern {
		if !d.matched[i] && doublestar.MatchUnvalidated(p, name) {
			d.matched[i] = true
			d.left--
		}
	}
}

// Missing returns the globs, as they were declared, that no output has matched.
func (d *Declared) Missing() []string {
	var missing []string
	for i, g := range d.globs {
		if !d.matched[i] {
			missing = append(missing, g)
		}
	}
	return missing
}
