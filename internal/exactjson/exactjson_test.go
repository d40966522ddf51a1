package exactjson

import (
	"errors"
	"strings"
	"testing"
)

func TestUnmarshal(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": 1}`:         "",
		" {\"a\": 1} \n":   "",
		`{"a": 1, "b": 2}`: `unknown field "b"`,
		`{"a": 1} {}`:      ErrMore.Error(),
		`{"a": 1}}`:        ErrMore.Error(),
		`{"a": 1} x`:       ErrMore.Error(),
		`{"a": `:           "EOF",
	} {
		var v struct {
			A int `json:"a"`
		}
		err := Unmarshal([]byte(text), &v)
		if want == "" && (err != nil || v.A != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, %v, want %q", text, v, err, want)
		}
		if want == ErrMore.Error() != errors.Is(err, ErrMore) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMarshal(t *testing.T) {
	const want = `{"a":"<b> & c"}`
	if got, err := Marshal(map[string]string{"a": "<b> & c"}); err != nil || string(got) != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
