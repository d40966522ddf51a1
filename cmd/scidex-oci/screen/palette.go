package screen

import (
	"fmt"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// Palette colours text on a terminal. The zero palette does not.
type Palette struct{ on bool }

// NewPalette is the palette of f. A non-empty NO_COLOR turns colours off (https://no-color.org).
func NewPalette(f *os.File, env options.Lookup) Palette {
	return Palette{on: IsTerminal(f) && env.Text("NO_COLOR") == "" && env.Text("TERM") != "dumb"}
}

func (p Palette) paint(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold makes text bold.
func (p Palette) Bold(text string) string { return p.paint("1", text) }

// Red makes text red.
func (p Palette) Red(text string) string { return p.paint("31", text) }

// Green makes text green.
func (p Palette) Green(text string) string { return p.paint("32", text) }

// Yellow makes text yellow.
func (p Palette) Yellow(text string) string { return p.paint("33", text) }

// Outcome formats a word of a report, padded to width: the good word in green, the bad one in red and capitals, any other
// in yellow.
func (p Palette) Outcome(word, good, bad string, width int) string {
	switch word {
	case good:
		return p.Green(fmt.Sprintf("%-*s", width, word))
	case bad:
		return p.Red(fmt.Sprintf("%-*s", width, strings.ToUpper(word)))
	}
	return p.Yellow(fmt.Sprintf("%-*s", width, Escape(word)))
}
