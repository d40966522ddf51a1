package postgres

import (
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

// text replaces what PostgreSQL's text cannot hold, NUL and invalid UTF-8: a message must not prevent a commit.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// isText reports whether text leaves s as it is. Nothing in the catalog is equal to other strings.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

func orNull(s string) any { return row.TextOrNull(s, text) }

// jsonOrNull leaves the validation of the document to PostgreSQL. Invalid UTF-8 is replaced, as Go's reader does.
func jsonOrNull(document json.RawMessage) any {
	if len(document) == 0 {
		return nil
	}
	return strings.ToValidUTF8(string(document), "\uFFFD")
}

// moment returns NULL for the zero time, and otherwise truncates to milliseconds, which PostgreSQL would round.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Millisecond)
}

// momentOf is the inverse of moment.
func momentOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}

func documentOf(text *string) json.RawMessage {
	if text == nil {
		return nil
	}
	return row.Document(*text)
}

// label is how a person names a run: ID@ATTEMPT.
func label(key catalog.Key) string {
	return catalog.Name{ID: key.ID, Attempt: key.Attempt}.String()
}
