// Package row is what the rows of all catalogs have in common: NULL for empty values, the columns of an entry, and the
// conditions of a filter. It needs no database and does no I/O.
package row

import (
	"encoding/json"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// Output is the verdict of an entry that was not rejected.
const Output = "output"

// Reason returns the reason of a verdict, empty for an output.
func Reason(verdict string) outputs.Reason {
	if verdict == Output {
		return ""
	}
	return outputs.Reason(verdict)
}

// Entry returns the columns of an entry: id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial. Only
// an output has a digest: gc keeps what a digest names. text makes a string storable in the database.
func Entry(key catalog.Key, e outputs.Entry, text func(string) string) []any {
	values := []any{
		key.ID, key.Attempt, NotNull(e.Path), e.Size, text(e.SHA256),
		TextOrNull(e.MediaType, text), int64(e.Mode), Output, BytesOrNull(e.Detail), e.Partial,
	}
	if e.Rejected != "" {
		values[3], values[4] = NumberOrNull(e.Size), nil
		values[6], values[7] = NumberOrNull(int64(e.Mode)), text(string(e.Rejected))
	}
	return values
}

// Totals counts the entries of a run.
type Totals struct{ Outputs, Rejected int64 }

// Add counts one entry.
func (t *Totals) Add(e outputs.Entry) {
	if e.Rejected == "" {
		t.Outputs++
	} else {
		t.Rejected++
	}
}

// TextOrNull returns NULL for an empty string, otherwise text(s).
func TextOrNull(s string, text func(string) string) any {
	if s == "" {
		return nil
	}
	return text(s)
}

// BytesOrNull returns NULL for no bytes.
func BytesOrNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// NotNull returns an empty value for nil, which a driver would store as NULL.
func NotNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// NumberOrNull returns NULL for 0.
func NumberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}

// Document returns a stored JSON document, nil for an empty text.
func Document(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}
