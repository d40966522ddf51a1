package relational

import (
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// accepted is the verdict of an entry that was not rejected.
const accepted = "output"

// reasonOf returns the reason of a verdict, empty for an output.
func reasonOf(verdict string) outputs.Reason {
	if verdict == accepted {
		return ""
	}
	return outputs.Reason(verdict)
}

// valuesOf returns the columns of an entry: id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial. Only
// an output has a digest: gc keeps what a digest names. text makes a string storable in the database.
func valuesOf(key catalog.Key, e outputs.Entry, text func(string) string) []any {
	values := []any{
		key.ID, key.Attempt, notNull(e.Path), e.Size, text(e.SHA256),
		textOrNull(e.MediaType, text), int64(e.Mode), accepted, bytesOrNull(e.Detail), e.Partial,
	}
	if e.Rejected != "" {
		values[3], values[4] = numberOrNull(e.Size), nil
		values[6], values[7] = numberOrNull(int64(e.Mode)), text(string(e.Rejected))
	}
	return values
}

// totals counts the entries of a run.
type totals struct{ Outputs, Rejected int64 }

// add counts one entry.
func (t *totals) add(e outputs.Entry) {
	if e.Rejected == "" {
		t.Outputs++
	} else {
		t.Rejected++
	}
}

// textOrNull returns NULL for an empty string, otherwise text(s).
func textOrNull(s string, text func(string) string) any {
	if s == "" {
		return nil
	}
	return text(s)
}

// bytesOrNull returns NULL for no bytes.
func bytesOrNull(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

// notNull returns an empty value for nil, which a driver would store as NULL.
func notNull(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// numberOrNull returns NULL for 0.
func numberOrNull(n int64) any {
	if n == 0 {
		return nil
	}
	return n
}
