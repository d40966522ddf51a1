package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// Redact replaces the values of secrets in text by their names. The lines of a longer value count each, since a program may
// print them one by one.
func (p *Plan) Redact(text string) string {
	names := map[string]string{}
	for name, value := range p.secrets {
		for part := range strings.SplitSeq(value, "\n") {
			if part = strings.TrimSpace(part); part != "" {
				names[part] = name
			}
		}
	}
	longestFirst := func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) } // one may be part of another
	for _, value := range slices.SortedFunc(maps.Keys(names), longestFirst) {
		text = strings.ReplaceAll(text, value, "$"+names[value])
	}
	return text
}
