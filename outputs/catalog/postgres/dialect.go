package postgres

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/relational"
)

var dialect = relational.Dialect{
	Moment:    moment,
	Text:      text,
	Holds:     isText,
	Contains:  contains,
	OfAction:  `action_id = %s`,
	HasAction: true,
	AddLabel:  addLabel,
	Outputs:   joined, OutputsOfDigest: joined,
	Digests:    selectDigests,
	ByPath:     `substring(path FOR 2000), path`, // what the index has of a path
	OfPath:     `substring(path FOR 2000) = substring($3::bytea FOR 2000) AND path = $3`,
	EventOrder: `seq`,
}

// text replaces what a column cannot hold: a message must not prevent a commit.
func text(s string) string { return catalog.ValidText(s) }

// isText reports whether text leaves s as it is. Nothing in the catalog is equal to other strings.
func isText(s string) bool { return utf8.ValidString(s) && !strings.Contains(s, "\x00") }

// moment returns NULL for the zero time, and otherwise truncates to milliseconds, which PostgreSQL would round.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Truncate(time.Millisecond)
}

// contains searches the id first: a request must be parsed.
const contains = `(strpos(id, %s) > 0 OR strpos(CASE WHEN request ->> 'script' <> ''
	THEN substring(request ->> 'script' FROM '[^/]*$') || coalesce(' ' || CASE json_typeof(request -> 'args') WHEN 'array'
		THEN (SELECT string_agg(word, ' ' ORDER BY n) FROM json_array_elements_text(request -> 'args') WITH ORDINALITY w (word, n)) END, '')
	ELSE CASE json_typeof(request -> 'command') WHEN 'array'
		THEN (SELECT string_agg(word, ' ' ORDER BY n) FROM json_array_elements_text(request -> 'command') WITH ORDINALITY w (word, n)) END END, %s) > 0)`

// joined is all outputs with their runs. The server sorts them, on disk if there are many.
const joined = `scidex_oci.analysis_run r JOIN scidex_oci.analysis_output o ON o.id = r.id AND o.attempt = r.attempt`

// selectDigests reads both halves from their indexes in order.
const selectDigests = `SELECT sha256 FROM scidex_oci.analysis_output WHERE sha256 IS NOT NULL
		AND (id, attempt) NOT IN (SELECT id, attempt FROM scidex_oci.analysis_run WHERE outputs_removed_at IS NOT NULL)
	UNION SELECT sha256 FROM scidex_oci.run_blob ORDER BY sha256`

func addLabel(_ context.Context, _ relational.Reader, where *relational.Where, key, value string) error {
	where.Add(`(r.id, r.attempt) IN (SELECT id, attempt FROM scidex_oci.run_label
		WHERE key = %s AND left(value, 500) = left(%s, 500) AND value = %s)`, key, value, value)
	return nil
}
