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
	n, last := 0, 0 // runes, and where the last one that may stay ends
	for at := range text {
		if n == limit-1 {
			last = at
		}
		if n == limit {
			return strings.ToValidUTF8(text[:last], "\uFFFD") + "…"
		}
		n++
	}
	return text
}
