// Package stdin has the standard input of an analysis that is known before the start.
package stdin

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Max is how much of a standard input is passed on, in bytes.
const Max = 64 << 20

// ErrTooMuch is returned for a standard input of more than Max bytes.
var ErrTooMuch = fmt.Errorf("standard input is longer than %d bytes (64 MiB), which is the most that is passed on: give a larger file with --input FILE", Max)

// Known is a standard input that is known before the start.
type Known struct {
	*os.File // from its beginning
	Bytes    int64
	SHA256   string
}

// Read reads a standard input to its end into a file without a name in dir. It returns nil for an empty one. It also ends
// with ctx; then a read that blocks is left behind.
func Read(ctx context.Context, from io.Reader, dir string) (*Known, error) {
	file, err := os.OpenFile(dir, unix.O_TMPFILE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("keep the standard input: %w", err)
	}
	k, read := &Known{File: file}, make(chan error, 1)
	go func() { read <- k.fill(from) }()
	select {
	case err = <-read:
	case <-ctx.Done():
		return nil, context.Cause(ctx) // the file is closed once nothing refers to it
	}
	if err != nil || k.Bytes == 0 {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

func (k *Known) fill(from io.Reader) (err error) {
	hash := sha256.New()
	if k.Bytes, err = io.Copy(io.MultiWriter(k.File, hash), io.LimitReader(from, Max+1)); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if k.Bytes > Max {
		return ErrTooMuch
	}
	k.SHA256 = hex.EncodeToString(hash.Sum(nil))
	_, err = k.Seek(0, io.SeekStart)
	return err
}
