package screen

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// maxSGR bounds how much of an incomplete colour sequence is held back, in bytes. Longer ones are escaped.
const maxSGR = 64

// Escape makes s safe to print in a line on a terminal: what is not format.Visible and bytes that are not UTF-8 become visible.
// Everything else, the backslash too, is unchanged.
func Escape(s string) string { return format.Escape(s, format.Visible) }

// escaper passes a stream on to a terminal. Newline, tab and colour sequences (ESC [ digits and semicolons m) pass; anything
// else that a terminal might act on is made visible. A carriage return ends the line, so that nothing overwrites what was
// printed: as only a newline if it belongs to one, else made visible too. The result does not depend on how the stream
// is cut into writes.
type escaper struct {
	to      io.Writer
	pending []byte // the start of a colour sequence, of a line end or of a rune
	colour  bool   // a colour is set
}

// Write takes all of p; an error is that of the underlying writer.
func (e *escaper) Write(p []byte) (int, error) {
	in := append(e.pending, p...)
	var out []byte
	for len(in) > 0 {
		n, known := e.step(in)
		if n == 0 {
			break
		}
		out = append(out, known...)
		in = in[n:]
	}
	e.pending = append([]byte(nil), in...)
	if len(out) == 0 {
		return len(p), nil
	}
	_, err := e.to.Write(out)
	return len(p), err
}

// Close writes what was held back and resets a colour that the stream left on. The underlying writer stays open.
func (e *escaper) Close() error {
	out := []byte(Escape(string(e.pending)))
	e.pending = nil
	if e.colour {
		out = append(out, "\x1b[0m"...)
		e.colour = false
	}
	if len(out) == 0 {
		return nil
	}
	_, err := e.to.Write(out)
	return err
}

// step returns how many bytes of in it took and what to print for them; 0 where more is needed.
func (e *escaper) step(in []byte) (int, []byte) {
	if n := plain(in); n > 0 {
		return n, in[:n]
	}
	switch c := in[0]; {
	case c == 0x1b:
		return e.sequence(in)
	case c == '\r':
		return carriageReturn(in)
	case c < utf8.RuneSelf:
		return 1, []byte(Escape(string(in[:1])))
	case !utf8.FullRune(in):
		return 0, nil
	}
	_, size := utf8.DecodeRune(in)
	return size, []byte(Escape(string(in[:size])))
}

// carriageReturn takes a carriage return, with the newline that follows.
func carriageReturn(in []byte) (int, []byte) {
	switch {
	case len(in) == 1:
		return 0, nil
	case in[1] == '\n':
		return 2, []byte("\n")
	}
	return 1, []byte(`\r` + "\n")
}

// plain is how many bytes at the start of in may be printed unchanged.
func plain(in []byte) int {
	for i, c := range in {
		if (c < 0x20 || c >= 0x7f) && c != '\n' && c != '\t' {
			return i
		}
	}
	return len(in)
}

// sequence takes a colour sequence whole, or else only the escape character.
func (e *escaper) sequence(in []byte) (int, []byte) {
	const visibleEscape = `\x1b`
	for i := 1; i < len(in); i++ {
		switch c := in[i]; {
		case i >= maxSGR:
			return 1, []byte(visibleEscape)
		case i == 1 && c == '[':
		case i > 1 && (c >= '0' && c <= '9' || c == ';'):
		case i > 1 && c == 'm':
			// "", "0" and "0;0" reset all colours.
			e.colour = strings.Trim(string(in[2:i]), "0;") != ""
			return i + 1, in[:i+1]
		default:
			return 1, []byte(visibleEscape)
		}
	}
	return 0, nil
}
