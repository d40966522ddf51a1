package rpc

import (
	"bytes"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// MaxLine bounds a line that is read, in bytes without its end.
const MaxLine = 1 << 20

// LineError is of one line: what comes after it can be read.
type LineError string

func (e LineError) Error() string { return string(e) }

const errHalf = LineError("the last line does not end; end each with a newline")

// Lines reads lines that are not blank.
type Lines struct {
	from *bounded.Lines
	most int
}

// NewLines makes a reader of lines that have at most so many bytes without their end.
func NewLines(from io.Reader, most int) *Lines { return &Lines{bounded.NewLines(from, most+1), most} }

// Next returns the next line that is not blank, without its end. A LineError is followed by what comes after; any other error is the
// end.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, long, err := l.from.Next()
		switch {
		case err != nil && (long || len(line) > 0):
			return nil, errHalf // and the next read has the end
		case err != nil:
			return nil, err
		case long:
			return nil, LineError(fmt.Sprintf("the line has more than %s; put what is so large into a file and name that", format.Size(int64(l.most))))
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
	}
}
