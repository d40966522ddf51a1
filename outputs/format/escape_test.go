package format

import (
	"fmt"
	"testing"
)

func TestEscape(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		"plain é€😀":                 "plain é€😀",
		"a\nb\tc\rd":                `a\nb\tc\rd`,
		"\x00\x1b[31m\x7f":          `\x00\x1b[31m\x7f`,
		"\xff\xe2\x82":              `\xff\xe2\x82`,
		"\U000e0041":                `\U000e0041`,
		"\ufffd is a character":     "\ufffd is a character",
		`back\slash`:                `back\slash`,
		"no\u00a0break\u3000\ue0b0": "no\u00a0break\u3000\ue0b0",
	} {
		if got := Escape(text, Visible); got != want {
			t.Errorf("Escape(%q) = %s, want %s", text, got, want)
		}
	}
	if got := Escape(`a\b`, func(r rune) bool { return r != '\\' }); got != `a\\b` {
		t.Errorf("a backslash is %s", got)
	}
}

// deceiving are characters that a terminal acts on, or that neither a terminal nor a page shows.
var deceiving = map[string]string{
	"C1 controls":            "\u0080\u0085\u009b",
	"lines":                  "\u2028\u2029",
	"embedding, override":    "\u202a\u202b\u202c\u202d\u202e",
	"isolates":               "\u2066\u2067\u2068\u2069",
	"marks of direction":     "\u200e\u200f\u061c",
	"byte order mark":        "\ufeff",
	"zero width":             "\u200b\u2060\u034f\u180e",
	"soft hyphen":            "\u00ad",
	"invisible operators":    "\u2061\u2062\u2063\u2064",
	"deprecated controls":    "\u206a\u206b\u206c\u206d\u206e\u206f",
	"annotations":            "\ufff9\ufffa\ufffb",
	"letters that are blank": "\u115f\u1160\u3164\uffa0\u17b4",
	"not characters":         "\ufdd0\ufffe\uffff\U0010ffff",
	"tags":                   "\U000e0001\U000e0041\U000e007f",
	"hieroglyphs, shorthand": "\U00013430\U0001bca0",
	"music":                  "\U0001d173",
}

func TestDeceptiveCharactersAreEscaped(t *testing.T) {
	for what, all := range deceiving {
		for _, r := range all {
			want := fmt.Sprintf(`a\u%04x.`, r)
			if r >= 0x10000 {
				want = fmt.Sprintf(`a\U%08x.`, r)
			}
			for _, escape := range []func(string) string{EscapeText, func(s string) string { return Escape(s, Visible) }} {
				if got := escape("a" + string(r) + "."); got != want {
					t.Errorf("%s: %U became %q", what, r, got)
				}
			}
		}
	}
}

func TestWrittenWordsStay(t *testing.T) {
	for what, text := range map[string]string{
		"Persian":               "می\u200cخواهم",
		"Malayalam":             "ന്\u200d",
		"family":                "👨\u200d👩\u200d👧",
		"heart":                 "❤\ufe0f",
		"variant of a kanji":    "葛\U000e0100",
		"accent":                "e\u0301",
		"Arabic number sign":    "\u0600١",
		"Korean":                "한글",
		"private use":           "\ue0b0",
		"ideographic space":     "a\u3000b",
		"space without a break": "a\u00a0b",
	} {
		if got := EscapeText(text); got != text {
			t.Errorf("%s became %q", what, got)
		}
	}
}

func TestEscapeText(t *testing.T) {
	const text = "a\tb\r\nc\rd\n\x1b\xff\ufeff"
	if got, want := EscapeText(text), "a\tb\r\nc\\rd\n\\x1b\\xff\\ufeff"; got != want {
		t.Errorf("%q became %q, want %q", text, got, want)
	}
}
