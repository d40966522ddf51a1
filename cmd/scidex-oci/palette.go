package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// palette colours words on a terminal; the zero palette leaves them alone.
type palette struct{ on bool }

// newPalette follows https://no-color.org: a NO_COLOR that is not empty turns colours off.
func newPalette(f *os.File, env lookup) palette {
	return palette{on: isTerminal(f) && env.Text("NO_COLOR") == "" && env.Text("TERM") != "dumb"}
}

func (p palette) paint(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p palette) bold(text string) string   { return p.paint("1", text) }
func (p palette) yellow(text string) string { return p.paint("33", text) }

// outcome shows a word of a report in a column of its own: the good one in green, the bad one in red and capitals,
// any other in yellow.
func (p palette) outcome(word, good, bad string, width int) string {
	switch word {
	case good:
		return p.paint("32", fmt.Sprintf("%-*s", width, word))
	case bad:
		return p.paint("31", fmt.Sprintf("%-*s", width, strings.ToUpper(word)))
	}
	return p.yellow(fmt.Sprintf("%-*s", width, escape(word)))
}

// state colours text by how a run ended.
func (p palette) state(state catalog.State, text string) string {
	switch state {
	case catalog.Complete:
		return p.paint("32", text)
	case catalog.Failed, catalog.Error, catalog.Lost:
		return p.paint("31", text)
	case catalog.Canceled, catalog.Queued, catalog.Running:
		return p.yellow(text)
	}
	return text
}
