package mcpcmd

import (
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

// window keeps a part of what is written to it: so many bytes from an offset on, or the last ones.
type window struct {
	first  int64 // -1: the last bytes
	length int
	kept   []byte
	total  int64
}

func at(first int64, length int) *window { return &window{first: first, length: length} }
func tail(length int) *window            { return &window{first: -1, length: length} }

// Write implements io.Writer.
func (w *window) Write(b []byte) (int, error) {
	n := len(b)
	if w.first < 0 {
		w.kept = append(w.kept, b[max(0, n-w.length):]...)
		w.kept = w.kept[max(0, len(w.kept)-w.length):]
	} else if skip := max(0, w.first-w.total); skip < int64(n) {
		b = b[skip:]
		w.kept = append(w.kept, b[:min(len(b), w.length-len(w.kept))]...)
	}
	w.total += int64(n)
	return n, nil
}

// part is what was kept, cut between characters.
func (w *window) part() logPart {
	first := w.first
	kept := w.kept
	if first < 0 {
		first = w.total - int64(len(kept))
		if first > 0 {
			head := headless(kept)
			first, kept = first+int64(len(kept)-len(head)), head
		}
	}
	if first+int64(len(kept)) < w.total {
		kept = whole(kept)
	}
	first = min(first, w.total)
	return logPart{Text: screen.EscapeText(string(kept)), Offset: first, Next: first + int64(len(kept)), Total: w.total}
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
