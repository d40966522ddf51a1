package format

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Escape writes what is not safe as in Go: \n, \t, \r and \\, \xNN for other ASCII and for bytes that are not UTF-8, \uNNNN and
// \UNNNNNNNN for all else.
func Escape(text string, safe func(rune) bool) string {
	var out strings.Builder
	out.Grow(len(text))
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[0])
		case safe(r):
			out.WriteString(text[:size])
		default:
			out.WriteString(escaped(r))
		}
		text = text[size:]
	}
	return out.String()
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r == '\\':
		return `\\`
	case r < utf8.RuneSelf:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}
