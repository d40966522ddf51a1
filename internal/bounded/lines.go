package bounded

import (
	"bufio"
	"errors"
	"io"
)

// Lines reads lines of at most so many bytes each.
type Lines struct {
	from *bufio.Reader
	most int
}

// NewLines makes a reader of lines that have at most most bytes, with their ends.
func NewLines(from io.Reader, most int) *Lines {
	return &Lines{bufio.NewReaderSize(from, 64<<10), most}
}

// Next returns the next line with its end. Of a longer one it says that it is long, and no byte is returned or kept. An error comes
// with what was read of the line before it: io.EOF with the last line, if that does not end.
func (l *Lines) Next() (line []byte, long bool, err error) {
	for {
		part, err := l.from.ReadSlice('\n')
		if long = long || len(line)+len(part) > l.most; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}
