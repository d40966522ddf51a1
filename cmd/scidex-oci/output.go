package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// writeJSON writes v as one line of JSON in which every character that a terminal might act on is
// escaped: the value stays the same.
func writeJSON(w io.Writer, v any) error {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(append(harmlessJSON(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), '\n'))
	return err
}

// harmlessJSON escapes DEL, C1 and bidirectional controls, which JSON leaves alone. In a JSON text they
// stand inside strings only.
func harmlessJSON(text []byte) []byte {
	var out []byte
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if r >= 0x20 && unsafeRune(r) {
			out = fmt.Appendf(out, `\u%04x`, r)
		} else {
			out = append(out, text[i:i+size]...)
		}
		i += size
	}
	return out
}
