package table

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// FuzzJSON: an object that encoding/json reads has the same members here, and one that it refuses is refused, unless
// because of NaN or Infinity.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1,"b":[1,2],"c":{"d":null},"e":"\"}"}`, `{"a":1]`, `{"a" : -0.5e3 , "b":true}`, `{"a":tru}`, `{"a":1 2}`, `{"a"::1}`, `{,}`, `{"a":"\x"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !bytes.HasPrefix(text, []byte("{")) || bytes.Contains(text, []byte("NaN")) || bytes.Contains(text, []byte("Inf")) {
			return
		}
		var want map[string]json.RawMessage
		wrong := json.Unmarshal(text, &want)
		var got map[string]Cell
		err := Read("a.json", bytes.NewReader(text), func(names []string, cells []Cell) error {
			got = map[string]Cell{}
			for i, name := range names {
				got[name] = cells[i]
			}
			return nil
		})
		if err != nil || wrong != nil {
			if err == nil && strings.Count(string(text), "{") == 1 {
				t.Errorf("%q was read, and is wrong: %v", text, wrong)
			}
			return
		}
		if len(got) != len(want) {
			t.Fatalf("%q: %v, want %v", text, got, want)
		}
		for name, value := range want {
			var a, b any
			if got[name].Kind == Text && !bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`)) || got[name].Kind&(Int|Wide|Float|Bool) != 0 {
				_ = json.Unmarshal([]byte(got[name].Text), &a)
			} else if got[name].Kind == Text {
				a = got[name].Text
			}
			if _ = json.Unmarshal(value, &b); !reflect.DeepEqual(a, b) {
				t.Errorf("%q: %q is %v, want %v", text, name, a, b)
			}
		}
	})
}
