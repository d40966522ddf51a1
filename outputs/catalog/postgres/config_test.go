package postgres

import (
	"slices"
	"testing"
)

// TestHosts: directories of sockets, which must not be bound, are found in every form of a URL that is accepted.
func TestHosts(t *testing.T) {
	t.Setenv("PGHOST", "/of/the/environment")
	for url, want := range map[string][]string{
		"postgres:///db":                                         {"/of/the/environment"},
		"postgres:///db?host=/run/pg":                            {"/run/pg"},
		"postgresql://u:p%40@/d?host=a,/b&port=1,2":              {"a", "/b"},
		"postgres://u@host:5432/d?host=/a,/b&application_name=x": {"/a", "/b"},
		"postgres://u@host:5432/d":                               {"host"},
		"postgresql://%2Frun%2Fpg/db":                            nil, // Check refuses it: net/url does
		"host=/run/pg":                                           nil,
	} {
		if got := Hosts(url); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
	}
}
