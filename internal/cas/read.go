package cas

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/regular"
)

// Open opens a blob, which is not verified; see NewReader. A missing one is fs.ErrNotExist.
func (s *Store) Open(sha256 string) (*os.File, error) {
	path, err := s.Path(sha256)
	if err != nil {
		return nil, err
	}
	f, err := regular.Open(path)
	if errors.Is(err, regular.ErrIrregular) {
		err = fmt.Errorf("%w: %w", ErrCorrupt, err) // no store makes anything else
	}
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", sha256, err)
	}
	return f, nil
}

// Verified opens a blob and reads it to its end first.
func (s *Store) Verified(sha256 string) (*os.File, error) {
	f, err := s.Open(sha256)
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(struct{ io.Writer }{io.Discard}, NewReader(f, sha256)) // io.Discard itself reads 8 KiB at a time
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// reader hashes what it reads and compares at the end. It is only an io.ReadCloser, so that no shortcut of io.Copy
// bypasses it.
type reader struct {
	from io.ReadCloser
	want string
	sum  hash.Hash
	err  error // that ended it
}

// NewReader reads contents that have the digest. If they do not, the read that reaches the end returns ErrCorrupt instead of
// io.EOF; a partial read verifies nothing.
func NewReader(from io.ReadCloser, want string) io.ReadCloser {
	return &reader{from: from, want: want, sum: sha256.New()}
}

// Read implements io.Reader.
func (r *reader) Read(p []byte) (int, error) {
	if r.err != nil {
		return 0, r.err
	}
	n, err := r.from.Read(p)
	r.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(r.sum.Sum(nil)); got != r.want {
			err = fmt.Errorf("blob %.80s: %w: its contents have the digest %s", r.want, ErrCorrupt, got)
		}
	}
	r.err = err
	return n, err
}

// Close implements io.Closer.
func (r *reader) Close() error { return r.from.Close() }
