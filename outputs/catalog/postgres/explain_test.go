package postgres

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestExplain(t *testing.T) {
	c := &Catalog{to: server{user: "reader"}}
	for code, words := range map[string][]string{
		codeNotAllowed:  {`"reader" may not`, "scidex_run, which is enough", "scidex_admin"},
		codeDiskFull:    {"free some space", "try again"},
		codeLockTimeout: {"try again"},
		codeTooMany:     {"try again"},
	} {
		cause := &pgconn.PgError{Code: code}
		wantWords(t, c.explain(cause), cause, words...)
	}
	for code, words := range map[string][]string{
		codeTooMany:    {"no connection left", "try again", "max_connections", "CONNECTION LIMIT"},
		codeNoDatabase: {"no such database", "createdb"},
	} {
		cause := &pgconn.PgError{Code: code}
		wantWords(t, c.explainConnecting(cause), cause, words...)
	}
}

func wantWords(t *testing.T, err, cause error, words ...string) {
	t.Helper()
	if !errors.Is(err, cause) {
		t.Errorf("%v does not wrap %v", err, cause)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not say %q", err, word)
		}
	}
}
