package outputs

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Escape shows bytes, such as a file name, on one line of a terminal or a log. Printable UTF-8 stays as it is. Everything
// else is written as in Go: \n, \t, \r and \\, \xNN for ASCII control characters and invalid UTF-8, \uNNNN and \UNNNNNNNN
// for other unprintable characters, including C1 controls, bidirectional overrides and the byte order mark. Different bytes
// always give different text.
func Escape(b []byte) string {
	var out strings.Builder
	out.Grow(len(b))
	for len(b) > 0 {
		r, size := utf8.DecodeRune(b)
		switch {
		case r == '\\':
			out.WriteString(`\\`)
		case r == utf8.RuneError && size == 1:
			hexEscape(&out, 'x', uint64(b[0]), 2)
		case unicode.IsPrint(r):
			out.Write(b[:size])
		default:
			control(&out, r)
		}
		b = b[size:]
	}
	return out.String()
}

func control(out *strings.Builder, r rune) {
	switch {
	case r == '\n':
		out.WriteString(`\n`)
	case r == '\t':
		out.WriteString(`\t`)
	case r == '\r':
		out.WriteString(`\r`)
	case r < utf8.RuneSelf:
		hexEscape(out, 'x', uint64(r), 2)
	case r < 0x10000:
		hexEscape(out, 'u', uint64(r), 4)
	default:
		hexEscape(out, 'U', uint64(r), 8)
	}
}

func hexEscape(out *strings.Builder, letter byte, v uint64, digits int) {
	hex := strconv.FormatUint(v, 16)
	out.WriteByte('\\')
	out.WriteByte(letter)
	out.WriteString(strings.Repeat("0", digits-len(hex)))
	out.WriteString(hex)
}
