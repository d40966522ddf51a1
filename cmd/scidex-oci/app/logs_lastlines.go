package app

import (
	"bytes"
	"io"
)

// lastLines keeps the last lines of what is written to it, and passes them on at its end.
type lastLines struct {
	to      io.Writer
	most    int
	kept    []byte
	dropped int64 // bytes before kept
}

func (l *lastLines) Write(b []byte) (int, error) {
	l.kept = append(l.kept, b...)
	before := len(bytes.TrimSuffix(l.kept, []byte("\n")))
	for range l.most {
		if before = bytes.LastIndexByte(l.kept[:before], '\n'); before < 0 {
			return len(b), nil
		}
	}
	l.dropped += int64(before + 1) // with the end of that line
	l.kept = append(l.kept[:0], l.kept[before+1:]...)
	return len(b), nil
}

// end passes on what is kept.
func (l *lastLines) end() error {
	_, err := l.to.Write(l.kept)
	return err
}
