package mcp

import (
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// window keeps the part of a log that a model asked for: some bytes from an offset on, or the last bytes.
type window struct {
	*bounded.Buffer
	first int64 // -1: the last bytes
}

func at(first int64, length int) *window { return &window{bounded.From(first, length), first} }
func tail(length int) *window            { return &window{bounded.Tail(length), -1} }

// part is what was kept, cut between characters.
func (w *window) part() logPart {
	first, kept, total := w.first, w.Bytes(), w.Total()
	if first < 0 {
		first = total - int64(len(kept))
		if first > 0 {
			head := headless(kept)
			first, kept = first+int64(len(kept)-len(head)), head
		}
	}
	if first+int64(len(kept)) < total {
		kept = whole(kept)
	}
	first = min(first, total)
	return logPart{Text: format.EscapeText(string(kept)), Offset: first, Next: first + int64(len(kept)), Total: total}
}

// headless leaves out the rest of a character that began before.
func headless(text []byte) []byte {
	for i := 0; i < min(utf8.UTFMax, len(text)); i++ {
		if utf8.RuneStart(text[i]) {
			return text[i:]
		}
	}
	return text
}

// whole leaves out the beginning of a character that goes on after text, if something else is left.
func whole(text []byte) []byte {
	for i := len(text) - 1; i > 0 && i >= len(text)-utf8.UTFMax; i-- {
		if utf8.RuneStart(text[i]) {
			if utf8.FullRune(text[i:]) {
				return text
			}
			return text[:i]
		}
	}
	return text
}
