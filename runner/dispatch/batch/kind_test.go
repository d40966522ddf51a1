package batch

import (
	"strings"
	"testing"
)

func TestCheckKind(t *testing.T) {
	for first, want := range map[string]string{
		`{"id":"a","script":"fit.py"}`:        "",
		`{"id":"a",`:                          "", // one bad line among others
		`{"v":1,"id":"a","state":"complete"}`: "has results, not analyses; ",
		"id,script,seed":                      `is no JSON Lines: it starts with "id,script,seed"; `,
		strings.Repeat("x", 100):              `is no JSON Lines: it starts with "` + strings.Repeat("x", 40) + `"; `,
		`[{"id":"a"}]`:                        "is no JSON Lines: ",
		"{":                                   "is no JSON Lines: ",
	} {
		err := CheckKind([]byte(first))
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", first, err, want)
		}
	}
}
