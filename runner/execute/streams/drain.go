package streams

import (
	"errors"
	"io"
)

// How much of a stream is read at once: at most what a pipe holds (pipe(7)).
const (
	smallChunk = 4 << 10
	chunk      = 64 << 10
)

// Drain reads a stream to its end and writes it to kept, which never fails, and to through, the user's end. If the user's end is
// closed, the rest is still kept. If nobody reads it, the analysis blocks until cut is closed. Two buffers are used in turn to avoid
// garbage; they are small as long as the parts are.
func Drain(stream io.Reader, kept, through io.Writer, cut <-chan struct{}) error {
	parts, read, passed := make(chan []byte), make(chan []byte, 1), make(chan struct{})
	read <- nil
	go func() {
		defer close(passed)
		pass(parts, read, through)
	}()
	defer func() {
		close(parts)
		select {
		case <-passed:
		case <-cut:
		}
	}()
	var buf []byte
	size := smallChunk
	for {
		if len(buf) < size {
			buf = make([]byte, size)
		}
		n, err := stream.Read(buf)
		if n == size {
			size = chunk
		}
		if n > 0 {
			_, _ = kept.Write(buf[:n])
			select {
			case other := <-read: // the one before has passed
				parts <- buf[:n]
				buf = other
			case <-cut:
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// pass writes each part and gives its buffer back.
func pass(parts <-chan []byte, back chan<- []byte, to io.Writer) {
	for part := range parts {
		if to != nil {
			if _, err := to.Write(part); err != nil {
				to = nil
			}
		}
		back <- part[:cap(part)]
	}
}
