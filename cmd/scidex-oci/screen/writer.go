package screen

import (
	"errors"
	"io"
	"syscall"
)

// writerFunc makes a function a writer.
type writerFunc func(p []byte) (int, error)

// Write calls f.
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// LenientWriter is a writer that never fails, so that a closed standard output does not end a run. After the first error it
// drops everything; Err returns that error.
type LenientWriter struct {
	to  io.Writer
	err error
}

// NewLenientWriter makes the writer to w.
func NewLenientWriter(w io.Writer) *LenientWriter { return &LenientWriter{to: w} }

// Write always succeeds.
func (w *LenientWriter) Write(p []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
	return len(p), nil
}

// Err is the first error of a write. EPIPE is none: the reader has closed it.
func (w *LenientWriter) Err() error {
	if errors.Is(w.err, syscall.EPIPE) {
		return nil
	}
	return w.err
}
