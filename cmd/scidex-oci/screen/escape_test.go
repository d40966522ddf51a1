package screen

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

func TestEscape(t *testing.T) {
	tests := map[string]string{
		"summary.csv":         "summary.csv",
		"größe/日本.csv":        "größe/日本.csv",
		`back\slash`:          `back\slash`,
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"\x1b[31mred":         `\x1b[31mred`,
		"nul\x00del\x7f":      `nul\x00del\x7f`,
		"c1\u009b31m":         `c1\u009b31m`,
		"raw\x9b31m\xff":      `raw\x9b31m\xff`,
		"gpj.\u202egpj.exe":   `gpj.\u202egpj.exe`,
		"\u2066iso\u2069":     `\u2066iso\u2069`,
		"\ufeffa\u200b\u200f": `\ufeffa\u200b\u200f`,
		"\ufffd is no error":  "\ufffd is no error",
		"cut \xe6\x97":        `cut \xe6\x97`,
		"bell\a back\b up\v.": `bell\x07 back\x08 up\x0b.`,
	}
	for in, want := range tests {
		if got := Escape(in); got != want {
			t.Errorf("escape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestEscaper(t *testing.T) {
	long := "\x1b[" + strings.Repeat("1;", maxSGR) + "m"
	tests := []struct{ name, in, want string }{
		{"plain", "a\tb\nc\n", "a\tb\nc\n"},
		{"Windows line", "a\r\nb\r\n", "a\nb\n"},
		{"overwritten line", "failed\rcomplete\n", "failed\\r\ncomplete\n"},
		{"progress", "\r 1%\r 2%\n", "\\r\n 1%\\r\n 2%\n"},
		{"two carriage returns", "a\r\r\nb", "a\\r\n\nb"},
		{"carriage return at the end", "a\r", `a\r`},
		{"carriage return and colour", "\x1b[31ma\r\x1b[2K", "\x1b[31ma\\r\n\\x1b[2K\x1b[0m"},
		{"cursor and erasure", "a\bb\x1b[1Gc\x1b[K\v\f", `a\x08b\x1b[1Gc\x1b[K\x0b\x0c`},
		{"colour kept", "\x1b[1;31mred\x1b[0m\n", "\x1b[1;31mred\x1b[0m\n"},
		{"colour taken back", "\x1b[31mred\n", "\x1b[31mred\n\x1b[0m"},
		{"short reset", "\x1b[31mred\x1b[m", "\x1b[31mred\x1b[m"},
		{"reset then colour", "\x1b[0;32mx", "\x1b[0;32mx\x1b[0m"},
		{"cursor up", "\x1b[2Aover", `\x1b[2Aover`},
		{"title", "\x1b]0;owned\a", `\x1b]0;owned\x07`},
		{"private mode", "\x1b[?1049h", `\x1b[?1049h`},
		{"two escapes", "\x1b\x1b[31mx\x1b[0m", "\\x1b\x1b[31mx\x1b[0m"},
		{"cut sequence", "x\x1b[3", `x\x1b[3`},
		{"too long", long, `\x1b` + long[1:]},
		{"m without bracket", "\x1bm", `\x1bm`},
		{"c1 control", "\u009b2J", `\u009b2J`},
		{"raw c1", "\x9b2J", `\x9b2J`},
		{"bidi", "a\u202eb", `a\u202eb`},
		{"invisible", "\ufeffa\u200fb\U000e0041", `\ufeffa\u200fb\U000e0041`},
		{"joined", "👩\u200d🔬", "👩\u200d🔬"},
		{"cut rune", "\xe6\x97", `\xe6\x97`},
		{"rune cut by a control", "\xe6\x97\x1b[2J", `\xe6\x97\x1b[2J`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := escaped(t, test.in); got != test.want {
				t.Errorf("whole: %q, want %q", got, test.want)
			}
			var single []string
			for i := range len(test.in) {
				single = append(single, test.in[i:i+1])
			}
			if got := escaped(t, single...); got != test.want {
				t.Errorf("byte by byte: %q, want %q", got, test.want)
			}
		})
	}
}

// escaped writes the parts through an escaper, one write each.
func escaped(t *testing.T, parts ...string) string {
	t.Helper()
	var out bytes.Buffer
	e := &escaper{to: &out}
	for _, part := range parts {
		if n, err := e.Write([]byte(part)); n != len(part) || err != nil {
			t.Fatalf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEscaperTellsErrors(t *testing.T) {
	broken := errors.New("broken")
	e := &escaper{to: writerFunc(func([]byte) (int, error) { return 0, broken })}
	if n, err := e.Write([]byte("abc")); n != 3 || !errors.Is(err, broken) {
		t.Errorf("Write = %d, %v", n, err)
	}
}

func FuzzEscaper(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\x1b[2J\xe6\x97\xa5\u009b\u202e\xff"), uint8(3))
	f.Add([]byte("\x1b[1;"+strings.Repeat("2", 80)+"m"), uint8(1))
	f.Fuzz(func(t *testing.T, in []byte, cut uint8) {
		whole := escaped(t, string(in))
		size := int(cut)%7 + 1
		var parts []string
		for rest := in; len(rest) > 0; {
			n := min(size, len(rest))
			parts = append(parts, string(rest[:n]))
			rest = rest[n:]
		}
		if got := escaped(t, parts...); got != whole {
			t.Fatalf("cut in %d: %q, whole: %q", size, got, whole)
		}
		checkHarmless(t, whole)
		if again := Escape(Escape(string(in))); again != Escape(string(in)) {
			t.Fatalf("escape is not idempotent: %q", again)
		}
	})
}

// checkHarmless fails where s holds anything but text, newline, tab and colour.
func checkHarmless(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("not UTF-8: %q", s)
	}
	for i, r := range s {
		switch {
		case r == '\n' || r == '\t':
		case r == 0x1b:
			rest := strings.TrimLeft(strings.TrimPrefix(s[i+1:], "["), "0123456789;")
			if !strings.HasPrefix(s[i+1:], "[") || !strings.HasPrefix(rest, "m") {
				t.Fatalf("raw escape at %d in %q", i, s)
			}
		case !format.Visible(r):
			t.Fatalf("raw %U in %q", r, s)
		}
	}
}
