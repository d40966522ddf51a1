package screen

import (
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/internal/exactjson"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// WriteJSON writes v as one line of JSON. Characters that a terminal might act on are escaped, which does not change the
// value.
func WriteJSON(w io.Writer, v any) error {
	line, err := JSONLine(v)
	if err == nil {
		_, err = w.Write(line)
	}
	return err
}

// JSONLine is the line that WriteJSON writes, with its newline.
func JSONLine(v any) ([]byte, error) {
	text, err := exactjson.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(EscapeJSON(text), '\n'), nil
}

// EscapeJSON escapes what JSON allows and is not format.Visible. In a JSON text it occurs only inside strings.
func EscapeJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	kept := 0 // from here on nothing is copied yet
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRune(text[i:])
		}
		if r >= ' ' && !format.Visible(r) {
			out = append(out, text[kept:i]...)
			for _, unit := range utf16.Encode([]rune{r}) {
				out = fmt.Appendf(out, `\u%04x`, unit)
			}
			kept = i + size
		}
		i += size
	}
	return append(out, text[kept:]...)
}
