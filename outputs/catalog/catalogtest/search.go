package catalogtest

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// testSearch: a text is looked for in the id and in what ran, as it is spelled.
func testSearch(t *testing.T, d Driver) {
	c := fresh(t, d)
	for i, request := range []string{
		`{"script":"/home/x/fit \u003c1.py","args":["--n","é"],"command":[]}`,
		`{"command":["python3","fit.py","it's","C:\\d"]}`,
		`{"script":"plain.R"}`,
		`{"script":7,"args":{"fit":1},"command":"other"}`, // as no version of this program writes it
		`{"script":"","command":["true"],"args":["unused"]}`,
		`null`,
	} {
		run := intent(string(rune('a'+i))+"0", 1)
		run.CreatedAt, run.Request = created().Add(time.Duration(i)*time.Minute), json.RawMessage(request)
		create(t, c, run)
	}
	for text, want := range map[string][]string{
		"fit":                       {"b0", "a0"},
		"fit <1.py --n é":           {"a0"},
		"home":                      nil, // the directory of a script
		"python3 fit.py it's C:\\d": {"b0"},
		"plain.R":                   {"c0"},
		"PLAIN":                     nil,
		"script":                    nil, // the name of a field
		"unused":                    nil,
		"f0":                        {"f0"},
		"%":                         nil,
	} {
		runs, err := c.List(t.Context(), catalog.Filter{Text: text})
		must(t, err)
		var got []string
		for _, run := range runs {
			got = append(got, run.ID)
		}
		if text == "fit" { // other programs' documents may match or not, and are no error
			got = slices.DeleteFunc(got, func(id string) bool { return id == "d0" })
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q finds %v, want %v", text, got, want)
		}
	}
}
