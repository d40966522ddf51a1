package relational

import (
	"reflect"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
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
			got := valuesOf(key, tt.entry, strings.ToUpper)
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("valuesOf = %#v, want %#v", got, tt.want)
			}
			if verdict := strings.ToLower(got[7].(string)); reasonOf(verdict) != tt.entry.Rejected {
				t.Errorf("reasonOf(%q) = %q, want %q", verdict, reasonOf(verdict), tt.entry.Rejected)
			}
		})
	}
}

func TestTotals(t *testing.T) {
	var got totals
	for _, reason := range []outputs.Reason{"", "symlink", "", ""} {
		got.add(outputs.Entry{Rejected: reason})
	}
	if want := (totals{Outputs: 3, Rejected: 1}); got != want {
		t.Errorf("totals = %+v, want %+v", got, want)
	}
}
