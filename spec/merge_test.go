package spec

import (
	"maps"
	"slices"
	"testing"
)

// TestMergeSecrets: the last layer with a name wins, and a manifest's value for the name of a secret is not kept.
func TestMergeSecrets(t *testing.T) {
	for _, test := range []struct {
		name       string
		base, over Analysis
		env        map[string]string
		secrets    []string
	}{
		{"a secret after a variable", Analysis{Env: map[string]string{"A": "1", "B": "2"}}, Analysis{Secrets: []string{"A"}}, map[string]string{"B": "2"}, []string{"A"}},
		{"a variable after a secret", Analysis{Secrets: []string{"A", "B"}}, Analysis{Env: map[string]string{"A": "1"}}, map[string]string{"A": "1"}, []string{"B"}},
		{"both at once", Analysis{}, Analysis{Env: map[string]string{"A": "1"}, Secrets: []string{"A"}}, map[string]string{"A": "1"}, []string{"A"}},
		{"the same secret twice", Analysis{Secrets: []string{"A"}}, Analysis{Secrets: []string{"A"}}, nil, []string{"A"}},
	} {
		if got := Merge(test.base, test.over); !maps.Equal(got.Env, test.env) || !slices.Equal(got.Secrets, test.secrets) {
			t.Errorf("%s: env %v, secrets %v, want %v, %v", test.name, got.Env, got.Secrets, test.env, test.secrets)
		}
	}
}
