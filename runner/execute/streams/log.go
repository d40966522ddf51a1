// Package streams takes an analysis' standard output and standard error: it keeps the beginning of each and passes all of it on.
package streams

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// Log keeps the first bytes of one stream as a file of the ingest directory and counts the rest. It makes the file with
// the first byte: most runs leave one of the streams empty.
type Log struct {
	ingest *cas.Ingest
	limit  int64 // bytes kept

	name  string // of the file; "": a random one
	file  *os.File
	hash  hash.Hash
	kept  int64
	total int64
	err   error // the first error of writing; the stream is drained all the same
}

// NewLog returns a log of at most limit bytes in a file of that name; with "" the name is random.
func NewLog(ingest *cas.Ingest, limit int64, name string) *Log {
	return &Log{ingest: ingest, limit: limit, name: name}
}

// Write takes all of p and returns no error: Err and Close do.
func (l *Log) Write(p []byte) (int, error) {
	l.total += int64(len(p))
	if l.err == nil {
		l.err = l.keep(p[:min(int64(len(p)), l.limit-l.kept)])
	}
	return len(p), nil
}

func (l *Log) keep(p []byte) (err error) {
	if len(p) == 0 {
		return nil
	}
	if l.file == nil {
		if err := l.open(); err != nil {
			return err
		}
		l.hash = sha256.New()
	}
	n, err := l.file.Write(p)
	l.hash.Write(p[:n])
	l.kept += int64(n)
	return err
}

func (l *Log) open() (err error) {
	if l.name != "" {
		l.file, err = l.ingest.CreateAs(l.name)
		return err
	}
	l.name, l.file, err = l.ingest.Create()
	return err
}

// Cut drops the last n bytes of a log that has kept all.
func (l *Log) Cut(n int64) {
	if n == 0 || l.err != nil {
		return
	}
	l.kept, l.total = l.kept-n, l.total-n
	l.hash.Reset()
	_, err := io.Copy(l.hash, io.NewSectionReader(l.file, 0, l.kept))
	l.err = errors.Join(err, l.file.Truncate(l.kept))
}

// Kept is what the log has kept so far; nil for a nil log.
func (l *Log) Kept() *phase.KeptFile {
	if l == nil {
		return nil
	}
	f := &phase.KeptFile{Name: l.name, Kept: l.kept, Total: l.total}
	if l.kept > 0 {
		f.SHA256 = hex.EncodeToString(l.hash.Sum(nil))
	}
	return f
}

// File is the open file; nil while nothing was written.
func (l *Log) File() *os.File { return l.file }

// Err is the first error of writing to the file.
func (l *Log) Err() error { return l.err }

// Close closes the file, and returns the first error of writing to it. A nil log is closed.
func (l *Log) Close() error {
	if l == nil {
		return nil
	}
	return errors.Join(l.err, workspace.CloseFile(l.file))
}
