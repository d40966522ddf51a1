package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// logSink keeps the first bytes of one stream as a file of the ingest directory and counts the rest. It makes the file with
// the first byte: most runs leave one of the streams empty.
type logSink struct {
	ingest *blob.Ingest
	limit  int64 // bytes kept

	name  string // of the file; "": one is made up
	file  *os.File
	hash  hash.Hash
	kept  int64
	total int64
	err   error // the first error of writing; the stream is drained all the same
}

func (s *logSink) Write(p []byte) (int, error) {
	s.total += int64(len(p))
	if s.err == nil {
		s.err = s.keep(p[:min(int64(len(p)), s.limit-s.kept)])
	}
	return len(p), nil
}

func (s *logSink) keep(p []byte) (err error) {
	if len(p) == 0 {
		return nil
	}
	if s.file == nil {
		if err := s.open(); err != nil {
			return err
		}
		s.hash = sha256.New()
	}
	n, err := s.file.Write(p)
	s.hash.Write(p[:n])
	s.kept += int64(n)
	return err
}

func (s *logSink) open() (err error) {
	if s.name != "" {
		s.file, err = s.ingest.CreateAs(s.name)
		return err
	}
	s.name, s.file, err = s.ingest.Create()
	return err
}

// logFile is what a sink has kept so far; nil of none.
func (s *logSink) logFile() *phase.LogFile {
	if s == nil {
		return nil
	}
	f := &phase.LogFile{Name: s.name, Kept: s.kept, Total: s.total}
	if s.file != nil {
		f.SHA256 = hex.EncodeToString(s.hash.Sum(nil))
	}
	return f
}

// close closes the file, and returns the first error of writing to it.
func (s *logSink) close() error {
	if s == nil {
		return nil
	}
	return errors.Join(s.err, workspace.CloseFile(s.file))
}

// How much of a stream is read at once: at most what a pipe holds (pipe(7)).
const (
	smallChunk = 4 << 10
	chunk      = 64 << 10
)

// drain reads a stream to its end into kept, which never fails, and through to the user. A closed user's end never ends the
// run: the rest is still kept. One that is not read blocks the analysis, until cut is closed. Two buffers go around to avoid
// garbage; they are small as long as little comes.
func drain(stream io.Reader, kept, through io.Writer, cut <-chan struct{}) error {
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
