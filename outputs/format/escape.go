package format

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible reports whether a reader sees r, and a terminal only prints it. Controls, line separators and characters that have no
// code are not, nor is what Unicode lets a program hide: what reorders text (CVE-2021-42574), is zero-width, or hides words from
// people that a model reads (tags). Two characters of no width are, because Persian and Indic words and emoji are written with
// them: the joiner and the non-joiner. So are variation selectors, which choose how the character before them looks.
func Visible(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r >= ' ' && r != 0x7f
	case unicode.In(r, unicode.Join_Control, unicode.Prepended_Concatenation_Mark): // of unicode.Cf
		return true
	}
	return !unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point)
}

// EscapeText escapes what is not Visible in a text of several lines: line ends and tabs are unchanged.
func EscapeText(text string) string {
	parts := strings.Split(text, "\r\n")
	for i, part := range parts {
		parts[i] = Escape(part, func(r rune) bool { return r == '\n' || r == '\t' || Visible(r) })
	}
	return strings.Join(parts, "\r\n")
}

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
