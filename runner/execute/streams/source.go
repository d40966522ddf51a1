package streams

import (
	"errors"
	"io"
	"math"
)

// errEnded says that the analysis has ended.
var errEnded = errors.New("the analysis has ended")

// source is what a standard input is read from.
type source interface {
	// next returns the next part, valid until the next call; with the last one comes an error.
	next(ended <-chan struct{}) ([]byte, error)
	// used says how much of it the analysis has read.
	used(n int64) error
}

// seekable is a regular file, whose reads do not block.
type seekable interface {
	io.ReaderAt
	io.Seeker
}

func newSource(from io.Reader) source {
	if file, ok := from.(seekable); ok {
		if start, err := file.Seek(0, io.SeekCurrent); err == nil {
			return &fileSource{file, start, io.NewSectionReader(file, start, math.MaxInt64-start), make([]byte, chunk)}
		}
	}
	return &pipeSource{from: from, parts: make(chan part), back: make(chan struct{})}
}

// fileSource reads a file without moving its offset, which other processes may share.
type fileSource struct {
	file  seekable
	start int64
	rest  io.Reader
	buf   []byte
}

func (s *fileSource) next(ended <-chan struct{}) ([]byte, error) {
	select {
	case <-ended:
		return nil, errEnded
	default:
	}
	n, err := s.rest.Read(s.buf)
	return s.buf[:n], err
}

func (s *fileSource) used(n int64) error {
	_, err := s.file.Seek(s.start+n, io.SeekStart)
	return err
}

// pipeSource reads in a goroutine of its own, which may be left behind in a read.
type pipeSource struct {
	from    io.Reader
	parts   chan part
	back    chan struct{} // the part before has been passed on
	started bool
}

type part struct {
	data []byte
	err  error
}

func (s *pipeSource) next(ended <-chan struct{}) ([]byte, error) {
	if !s.started {
		s.started = true
		go s.read(ended)
	} else {
		select {
		case s.back <- struct{}{}:
		case <-ended:
			return nil, errEnded
		}
	}
	select {
	case p := <-s.parts:
		return p.data, p.err
	case <-ended:
		return nil, errEnded
	}
}

func (s *pipeSource) read(ended <-chan struct{}) {
	buf := make([]byte, chunk)
	for {
		n, err := s.from.Read(buf)
		select {
		case s.parts <- part{buf[:n], err}:
		case <-ended:
			return
		}
		if err != nil {
			return
		}
		select {
		case <-s.back:
		case <-ended:
			return
		}
	}
}

func (s *pipeSource) used(int64) error { return nil }
