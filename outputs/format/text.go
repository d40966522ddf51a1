package format

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
)

var controlSequence = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;:?]*[ -/]*[@-~]") })

// Line makes one line of text that a program wrote: without the colours of terminals, with a space for whatever else is
// not printable, cut after limit runes.
func Line(text string, limit int) string {
	text = controlSequence().ReplaceAllString(text, "")
	text = strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return Cut(strings.Join(strings.Fields(text), " "), limit)
}

// Cut returns at most limit runes of text; "…" replaces the rest.
func Cut(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	return string(runes[:limit-1]) + "…"
}
