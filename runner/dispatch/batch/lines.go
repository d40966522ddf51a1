package batch

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
)

// maxLine bounds a line in bytes: that of a manifest, with room for its end.
const maxLine = 1<<20 + 2

// Reader reads the lines of a batch one by one and skips blank ones.
type Reader struct {
	from   *bufio.Reader
	name   string
	parse  Parse
	number int
}

// Parse parses a line. The text is valid until it returns. Its error names the location.
type Parse func(text []byte, number int) dispatch.Line

// NewReader reads from a file or stream, named name in messages.
func NewReader(from io.Reader, name string, parse Parse) *Reader {
	return &Reader{from: bufio.NewReaderSize(from, 64<<10), name: name, parse: parse}
}

// mark is the byte order mark with which Windows editors start a UTF-8 file; RFC 8259, section 8.1, lets parsers ignore it.
var mark = []byte("\ufeff")

// Next returns the next line, with its Err where it is invalid, or an error where the stream cannot be read.
func (r *Reader) Next() (dispatch.Line, error) {
	for {
		text, whole, err := r.read()
		if err != nil {
			return dispatch.Line{}, err
		}
		r.number++
		if !whole {
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

// read returns a line, at most maxLine bytes of it. The last one need not end.
func (r *Reader) read() (text []byte, whole bool, err error) {
	whole = true
	for {
		part, err := r.from.ReadSlice('\n')
		if whole = whole && len(text)+len(part) <= maxLine; whole {
			text = append(text, part...)
		} else {
			text = text[:0]
		}
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(text) > 0, errors.Is(err, io.EOF) && !whole:
			return text, whole, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, whole, err
		default:
			return nil, whole, fmt.Errorf("%s: after line %d: %w", r.name, r.number, err)
		}
	}
}
