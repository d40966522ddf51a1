package plan

import "testing"

func TestRedact(t *testing.T) {
	p := &Plan{secrets: map[string]string{"TOKEN": "abc", "LONG": "abcdef", "KEY": "-----BEGIN-----\n  c2VjcmV0\n-----END-----\n", "EMPTY": ""}}
	got := p.Redact("login abcdef failed, abc too: c2VjcmV0, b")
	if want := "login $LONG failed, $TOKEN too: $KEY, b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
