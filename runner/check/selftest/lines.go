package selftest

import (
	"bytes"
	"context"
	"errors"
)

// lines splits what a process writes into lines. An untrusted process can write anything, so their number and length are
// bounded; what exceeds the bounds is dropped and sets excess.
type lines struct {
	lines  chan []byte
	rest   []byte
	excess bool // valid once the process has ended
}

// newLines keeps at most n lines.
func newLines(n int) *lines { return &lines{lines: make(chan []byte, n)} }

const maxLine = 4 << 20 // bytes

// Write never fails.
func (l *lines) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if l.excess || len(l.rest)+len(part) > maxLine {
			l.excess = true
			break
		}
		l.rest = append(l.rest, part...)
		if part[len(part)-1] != '\n' {
			break
		}
		select {
		case l.lines <- l.rest:
			l.rest = nil
		default:
			l.excess = true
		}
	}
	return len(p), nil
}

// errEnded says that a process ended without another line.
var errEnded = errors.New("it ended without an answer")

// next waits for the next line of a process. ended is closed when it has ended.
func (l *lines) next(ctx context.Context, ended <-chan struct{}) ([]byte, error) {
	select {
	case line := <-l.lines:
		return line, nil
	case <-ended:
	case <-ctx.Done():
	}
	select {
	case line := <-l.lines:
		return line, nil
	default:
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return nil, errEnded
}
