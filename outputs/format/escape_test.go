package format

import (
	"testing"
	"unicode"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                      "",
		"plain é€😀":             "plain é€😀",
		"a\nb\tc\rd":            `a\nb\tc\rd`,
		"\x00\x1b[31m\x7f":      `\x00\x1b[31m\x7f`,
		"\xff\xe2\x82":          `\xff\xe2\x82`,
		"\u0085\u202e\ufeff":    `\u0085\u202e\ufeff`,
		"\U000e0041":            `\U000e0041`,
		"\ufffd is a character": "\ufffd is a character",
		`back\slash`:            `back\slash`,
	} {
		if got := Escape(text, unicode.IsPrint); got != want {
			t.Errorf("Escape(%q) = %s, want %s", text, got, want)
		}
	}
	if got := Escape(`a\b`, func(r rune) bool { return r != '\\' }); got != `a\\b` {
		t.Errorf("a backslash is %s", got)
	}
}
