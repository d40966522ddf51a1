package outputs

import (
	"unicode"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Escape shows bytes, such as a file name, on one line of a terminal or a log. Printable UTF-8 stays as it is. Everything
// else is written as in Go: \n, \t, \r and \\, \xNN for ASCII control characters and invalid UTF-8, \uNNNN and \UNNNNNNNN
// for other unprintable characters, including C1 controls, bidirectional overrides and the byte order mark. Different bytes
// always give different text.
func Escape(b []byte) string {
	return format.Escape(string(b), func(r rune) bool { return r != '\\' && unicode.IsPrint(r) })
}
