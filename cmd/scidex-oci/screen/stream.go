package screen

import (
	"io"
	"os"
)

// Stream passes on one of the two streams of an analysis. Close it after the run.
type Stream struct {
	to      *LenientWriter
	escaper *escaper // nil where bytes pass unchanged
}

// NewStream writes to f: unchanged if that is a file or a pipe, escaped and in turns with the status if it is a
// terminal.
func NewStream(f *os.File, terminal *Terminal) *Stream {
	if !IsTerminal(f) {
		return &Stream{to: NewLenientWriter(f)}
	}
	s := &Stream{to: NewLenientWriter(terminal.Writer(f))}
	s.escaper = &escaper{to: s.to}
	return s
}

// Write never fails.
func (s *Stream) Write(p []byte) (int, error) {
	if s.escaper != nil {
		return s.escaper.Write(p)
	}
	return s.to.Write(p)
}

// Close prints what was held back and returns the first error of a write.
func (s *Stream) Close() error {
	if s.escaper != nil {
		_ = s.escaper.Close() // its writer does not fail
	}
	return s.to.Err()
}

// Display writes to f: unchanged if that is a file or a pipe, escaped if it is a terminal. Call done at the end.
func Display(f *os.File) (to io.Writer, done func() error) {
	if !IsTerminal(f) {
		return f, func() error { return nil }
	}
	e := &escaper{to: f}
	return e, e.Close
}
