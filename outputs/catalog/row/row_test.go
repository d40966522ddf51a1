package row_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/row"
)

func TestEntry(t *testing.T) {
	key := catalog.Key{ID: "a", Attempt: 2}
	tests := []struct {
		name  string
		entry outputs.Entry
		want  []any
	}{
		{
			"output",
			outputs.Entry{Path: []byte("p\xff"), Size: 3, SHA256: "abc", MediaType: "text/csv", Mode: 0o644, Partial: true},
			[]any{"a", 2, []byte("p\xff"), int64(3), "ABC", "TEXT/CSV", int64(0o644), "output", nil, true},
		},
		{
			"empty output, of no known type",
			outputs.Entry{SHA256: "abc"},
			[]any{"a", 2, []byte{}, int64(0), "ABC", nil, int64(0), "output", nil, false},
		},
		{
			"rejected, so that its digest is none",
			outputs.Entry{Path: []byte("p"), Rejected: "symlink", Detail: []byte("-> x"), SHA256: "abc"},
			[]any{"a", 2, []byte("p"), nil, nil, nil, nil, "SYMLINK", []byte("-> x"), false},
		},
		{
			"rejected, of a size",
			outputs.Entry{Path: []byte("p"), Rejected: "too_large", Size: 5, Mode: 0o600},
			[]any{"a", 2, []byte("p"), int64(5), nil, nil, int64(0o600), "TOO_LARGE", nil, false},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := row.Entry(key, tt.entry, strings.ToUpper)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("Entry = %#v, want %#v", got, tt.want)
			}
			if verdict := strings.ToLower(got[7].(string)); row.Reason(verdict) != tt.entry.Rejected {
				t.Errorf("Reason(%q) = %q, want %q", verdict, row.Reason(verdict), tt.entry.Rejected)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	var got row.Totals
	for _, reason := range []outputs.Reason{"", "symlink", "", ""} {
		got.Add(outputs.Entry{Rejected: reason})
	}
	if want := (row.Totals{Outputs: 3, Rejected: 1}); got != want {
		t.Errorf("Totals = %+v, want %+v", got, want)
	}
}

func TestDocument(t *testing.T) {
	if got := row.Document(""); got != nil {
		t.Errorf("Document of nothing = %q, want nil", got)
	}
	if got := string(row.Document("{}")); got != "{}" {
		t.Errorf("Document = %q, want {}", got)
	}
}
