package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// MaxLine bounds a line that is read, in bytes without its end.
const MaxLine = 1 << 20

// LineError is of one line: what comes after it can be read.
type LineError string

func (e LineError) Error() string { return string(e) }

const errHalf = LineError("the last line does not end; end each with a newline")

// Lines reads lines.
type Lines struct {
	from *bufio.Reader
	most int
}

// NewLines makes a reader of lines that have at most so many bytes without their end.
func NewLines(from io.Reader, most int) *Lines {
	return &Lines{bufio.NewReaderSize(from, 64<<10), most}
}

// Next returns the next line that is not blank, without its end. A LineError is followed by what comes after; any other error is the
// end.
func (l *Lines) Next() ([]byte, error) {
	for {
		line, err := l.read()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// read holds no more than a line's bound of it.
func (l *Lines) read() ([]byte, error) {
	var line []byte
	long, some := false, false
	for {
		part, err := l.from.ReadSlice('\n')
		some = some || len(part) > 0
		if long = long || len(line)+len(part) > l.most+1; !long {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, LineError(fmt.Sprintf("the line has more than %s; put what is so large into a file and name that", format.Size(int64(l.most))))
		case err == nil:
			return line, nil
		case some:
			return nil, errHalf // and the next read has the end
		default:
			return nil, err
		}
	}
}
