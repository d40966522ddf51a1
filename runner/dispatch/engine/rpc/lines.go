package rpc

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine bounds a line that is read, in bytes without its end.
const MaxLine = 1 << 20

var (
	errTooLong = errors.New("the line has more than 1 MiB; put what is so large into a file and name that")
	errHalf    = errors.New("the last line does not end; end each with a newline")
)

// lines reads lines.
type lines struct{ from *bufio.Reader }

func newLines(from io.Reader) *lines { return &lines{bufio.NewReaderSize(from, 64<<10)} }

// next returns the next line that is not blank, without its end. errTooLong and errHalf are followed by what comes after; any
// other error is the end.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.read()
		if line = bytes.TrimSpace(line); err != nil || len(line) > 0 {
			return line, err
		}
	}
}

// read holds no more than a line's bound of it.
func (l *lines) read() ([]byte, error) {
	var line []byte
	long, some := false, false
	for {
		part, err := l.from.ReadSlice('\n')
		some = some || len(part) > 0
		if long = long || len(line)+len(part) > MaxLine+1; !long {
			line = append(line, part...)
		} else {
			line = nil
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err == nil && long:
			return nil, errTooLong
		case err == nil:
			return line, nil
		case some:
			return nil, errHalf // and the next read has the end
		default:
			return nil, err
		}
	}
}
