package report

import (
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Piece is a part of a text. A mark shows a character that is invisible or changes the look of others.
type Piece struct {
	Text string
	Mark bool
}

// Pieces splits a text of several lines for custom rendering.
func Pieces(s string) []Piece { return pieces(s, true) }

// pieces splits a text. Control characters (including terminal escapes), invalid UTF-8, and unprintable characters become
// marks, \xNN or \uNNNN: the latter include those that reorder text (CVE-2021-42574) and those without width. Newlines and
// tabs stay if the text may have lines.
func pieces(s string, lines bool) []Piece {
	var all []Piece
	kept := 0 // the start of the pending text
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if harmless(r, size) || lines && (r == '\n' || r == '\t') {
			i += size
			continue
		}
		all = add(all, s[kept:i], false)
		all = add(all, format.Escape(s[i:i+size], format.Visible), true)
		i += size
		kept = i
	}
	return add(all, s[kept:], false)
}

func harmless(r rune, size int) bool {
	return format.Visible(r) && (r != utf8.RuneError || size > 1)
}

// add joins adjacent marks: a log of control characters must not become one element for each.
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

// visible is a text on one line without marks, for attributes.
func visible(s string) string {
	var b strings.Builder
	for _, p := range pieces(s, false) {
		b.WriteString(p.Text)
	}
	return b.String()
}
