package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// maxLine bounds a line in bytes: that of a manifest, with room for its end.
const maxLine = 1<<20 + 2

// Reader reads the lines of a batch one by one and skips blank ones.
type Reader struct {
	from   *bounded.Lines
	name   string
	parse  Parse
	number int
}

// Parse parses a line. The text is valid until it returns. Its error names the location.
type Parse func(text []byte, number int) dispatch.Line

// NewReader reads from a file or stream, named name in messages.
func NewReader(from io.Reader, name string, parse Parse) *Reader {
	return &Reader{from: bounded.NewLines(from, maxLine), name: name, parse: parse}
}

// mark is the byte order mark with which Windows editors start a UTF-8 file; RFC 8259, section 8.1, lets parsers ignore it.
var mark = []byte("\ufeff")

// Next returns the next line, with its Err if it is invalid, or an error if the stream cannot be read. The last one need not end.
func (r *Reader) Next() (dispatch.Line, error) {
	for {
		text, long, err := r.from.Next()
		switch {
		case errors.Is(err, io.EOF) && (long || len(text) > 0): // the next read has the end
		case errors.Is(err, io.EOF):
			return dispatch.Line{}, err
		case err != nil:
			return dispatch.Line{}, fmt.Errorf("%s: after line %d: %w", r.name, r.number, err)
		}
		r.number++
		if long {
			return dispatch.Line{Number: r.number, Err: fmt.Errorf("%s:%d: the line has more than %s; what is so large belongs into an input", r.name, r.number, format.Size(maxLine-2))}, nil
		}
		if r.number == 1 {
			text = bytes.TrimPrefix(text, mark)
		}
		if text = bytes.TrimSpace(text); len(text) > 0 {
			return r.parse(text, r.number), nil
		}
	}
}
