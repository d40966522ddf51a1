package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a blob for reading. If its contents do not match the digest, the read that reaches the end returns ErrCorrupt
// instead of io.EOF; a partial read verifies nothing. A missing blob is fs.ErrNotExist. A copy on this host of a shared
// store's blob is read instead, once it is verified.
func (s *Store) Open(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	if s.remote != nil {
		if f, err := s.verifiedHere(sha256); err == nil {
			return newVerified(f, sha256), nil
		}
	}
	return s.openKept(ctx, sha256)
}

// openKept opens a blob in the store.
func (s *Store) openKept(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	if err := checkDigest(sha256); err != nil {
		return nil, err
	}
	var f io.ReadCloser
	var err error
	if s.remote != nil {
		f, err = s.remote.Open(ctx, sha256)
	} else {
		f, err = s.openHere(sha256)
	}
	if err != nil {
		return nil, err
	}
	return newVerified(f, sha256), nil
}

// openHere opens the file of a blob on this host.
func (s *Store) openHere(sha256 string) (*os.File, error) {
	path, err := s.Path(sha256)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("blob %s: %w", sha256, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: not a regular file", ErrCorrupt)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("blob %s: %w", sha256, err)
	}
	return f, nil
}

// verified hashes what it reads and compares at the end. It is only an io.ReadCloser, so that no shortcut of io.Copy
// bypasses it.
type verified struct {
	file io.ReadCloser
	want string
	sum  hash.Hash
	err  error // that ended it
}

func newVerified(f io.ReadCloser, want string) *verified {
	return &verified{file: f, want: want, sum: sha256.New()}
}

func (v *verified) Read(p []byte) (int, error) {
	if v.err != nil {
		return 0, v.err
	}
	n, err := v.file.Read(p)
	v.sum.Write(p[:n])
	if errors.Is(err, io.EOF) {
		if got := hex.EncodeToString(v.sum.Sum(nil)); got != v.want {
			err = fmt.Errorf("blob %s: %w: its contents have the digest %s", v.want, ErrCorrupt, got)
		}
	}
	v.err = err
	return n, err
}

func (v *verified) Close() error { return v.file.Close() }
