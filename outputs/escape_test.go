package outputs

import (
	"bytes"
	"strconv"
	"testing"
	"unicode"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"plain name.csv":           "plain name.csv",
		"Grüße 図 👍":                "Grüße 図 👍",
		"a\nb\tc\rd":               `a\nb\tc\rd`,
		"\x00\x1b[31m\x7f":         `\x00\x1b[31m\x7f`,
		"\xff\xc3":                 `\xff\xc3`,
		`a\nb`:                     `a\\nb`,
		"\u0085\u009b":             `\u0085\u009b`,
		"\u202egpj\u2066":          `\u202egpj\u2066`,
		"\ufeff\u2028\u2029\u200b": `\ufeff\u2028\u2029\u200b`,
		"\U000e0001":               `\U000e0001`,
		"\ufffd":                   "\ufffd",
		"\xed\xa0\x80":             `\xed\xa0\x80`, // a surrogate is not UTF-8
	} {
		if got := Escape([]byte(in)); got != want {
			t.Errorf("%q: got %s, want %s", in, got, want)
		}
	}
}

func FuzzEscape(f *testing.F) {
	f.Add([]byte("a\\n\n\xff\u202e\U000e0001"))
	f.Fuzz(func(t *testing.T, in []byte) {
		out := Escape(in)
		for _, r := range out {
			if !unicode.IsPrint(r) {
				t.Errorf("%q holds %q", out, r)
			}
		}
		if back := unescape(t, out); !bytes.Equal(back, in) {
			t.Errorf("%q became %q and then %q", in, out, back)
		}
	})
}

// unescape is the inverse of Escape.
func unescape(t *testing.T, s string) []byte {
	var out []byte
	for len(s) > 0 {
		c, multi, tail, err := strconv.UnquoteChar(s, 0)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if c < 0x80 || multi {
			out = append(out, string(c)...)
		} else {
			out = append(out, byte(c))
		}
		s = tail
	}
	return out
}
