package probe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Lines splits what a process writes into lines. An untrusted process can write anything, so their number and length are
// bounded; what exceeds the bounds is dropped and sets Excess.
type Lines struct {
	lines  chan []byte
	rest   []byte
	Excess bool // valid once the process has ended
}

// NewLines keeps at most n lines.
func NewLines(n int) *Lines { return &Lines{lines: make(chan []byte, n)} }

const maxLine = 4 << 20 // bytes

// Write never fails.
func (l *Lines) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if l.Excess || len(l.rest)+len(part) > maxLine {
			l.Excess = true
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
			l.Excess = true
		}
	}
	return len(p), nil
}

// ErrEnded says that a process ended without another line.
var ErrEnded = errors.New("it ended without an answer")

// Next waits for the next line of a process. ended is closed when it has ended.
func (l *Lines) Next(ctx context.Context, ended <-chan struct{}) ([]byte, error) {
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
	return nil, ErrEnded
}

// Decode reads a line that is one JSON value with known fields only.
func Decode(line []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("it is not what a canary says: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("it says more than one thing in a line")
	}
	return nil
}

// FirstLine of text that may hold anything.
func FirstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(string(text), "?")), "\n")
	return line
}
