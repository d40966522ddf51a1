package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Piece is a part of a text. A mark stands for a character that a reader would not see, or that would make others look
// otherwise than they are.
type Piece struct {
	Text string
	Mark bool
}

// Pieces takes a text of several lines apart, for those who show it themselves.
func Pieces(s string) []Piece { return pieces(s, true) }

// pieces takes a text apart. Control characters (and with them terminal escapes), bytes that are not UTF-8, and characters
// that do not print become marks, \xNN or \uNNNN: among the latter are those that reorder text (CVE-2021-42574) and
// those without width. Newlines and tabs stay where the text may have lines.
func pieces(s string, lines bool) []Piece {
	var all []Piece
	kept := 0 // from here on nothing is in all yet
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if harmless(r, size) || lines && (r == '\n' || r == '\t') {
			i += size
			continue
		}
		all = add(all, s[kept:i], false)
		all = add(all, mark(s[i:i+size], r), true)
		i += size
		kept = i
	}
	return add(all, s[kept:], false)
}

func harmless(r rune, size int) bool {
	return unicode.IsGraphic(r) && (r != utf8.RuneError || size > 1)
}

func mark(s string, r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case len(s) == 1:
		return fmt.Sprintf(`\x%02x`, s[0])
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// add joins marks that follow each other: a log of control characters is not to become one element for each.
func add(all []Piece, text string, marked bool) []Piece {
	switch last := len(all) - 1; {
	case text == "":
	case last >= 0 && all[last].Mark == marked:
		all[last].Text += text
	default:
		all = append(all, Piece{text, marked})
	}
	return all
}

// visible is a text in one line and without marks, for attributes.
func visible(s string) string {
	var b strings.Builder
	for _, p := range pieces(s, false) {
		b.WriteString(p.Text)
	}
	return b.String()
}

// clip cuts a text after so many characters and says so.
func clip(s string, most int) string {
	n := 0
	for i := range s {
		if n == most {
			return s[:i] + "…"
		}
		n++
	}
	return s
}
