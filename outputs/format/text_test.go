package format

import "testing"

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"  ValueError:\tx\n":             "ValueError: x",
		"\x1b[0;31mKeyError\x1b[0m: 'a'": "KeyError: 'a'",
		"a\x1b]0;title\x07b":             "a ]0;title b",
		"a\xffb\u202ec":                  "a b c",
		"ValueError: 3456":               "ValueError: 3456",
		"ValueError: 34567":              "ValueError: 345…",
		"öööööööööööööööööö":             "ööööööööööööööö…",
	} {
		if got := Line(text, 16); got != want {
			t.Errorf("Line(%q) = %q, want %q", text, got, want)
		}
	}
}
