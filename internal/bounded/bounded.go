// Package bounded bounds streams of any length: a Buffer keeps the first bytes, the last ones or those from an offset
// on, ReadAll and Lines refuse more than their bound, and Until ends a reader with a context.
package bounded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/docker/go-units"
)

// ReadAll reads all of r, and fails if that is more than most bytes.
func ReadAll(r io.Reader, most int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(data)) > most {
		return nil, fmt.Errorf("it has more than %s", units.BytesSize(float64(most)))
	}
	return data, err
}

// ReadFile is ReadAll of a file, whose name is in every error.
func ReadFile(f *os.File, most int64) ([]byte, error) {
	data, err := ReadAll(f, most)
	if named := new(fs.PathError); err != nil && !errors.As(err, &named) {
		err = &fs.PathError{Op: "read", Path: f.Name(), Err: err}
	}
	return data, err
}

// Until reads from r until ctx has ended, and fails with its cause then. A read that has begun goes on.
func Until(ctx context.Context, r io.Reader) io.Reader {
	return readerFunc(func(p []byte) (int, error) {
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return r.Read(p)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// Buffer takes all that is written to it and keeps a part. It is safe for concurrent use: a writer may outlive the
// reader of the part.
type Buffer struct {
	most int
	from int64 // -1: the last bytes

	mu    sync.Mutex
	kept  []byte
	total int64
}

// Head keeps the first most bytes.
func Head(most int) *Buffer { return From(0, most) }

// From keeps most bytes from an offset on.
func From(offset int64, most int) *Buffer { return &Buffer{most: most, from: offset} }

// Tail keeps the last most bytes.
func Tail(most int) *Buffer { return &Buffer{most: most, from: -1} }

// Write takes all of p, and never fails.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := len(p)
	if b.from < 0 {
		p = p[max(0, n-b.most):]
		over := max(0, len(b.kept)+len(p)-b.most)
		b.kept = append(append(b.kept[:0], b.kept[over:]...), p...)
	} else {
		p = p[min(int64(n), max(0, b.from-b.total)):]
		b.kept = append(b.kept, p[:min(len(p), b.most-len(b.kept))]...)
	}
	b.total += int64(n)
	return n, nil
}

// Bytes is a copy of what is kept.
func (b *Buffer) Bytes() []byte { return []byte(b.String()) }

// String is what is kept.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.kept)
}

// Total is how many bytes were written.
func (b *Buffer) Total() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total
}

// Cut reports whether more was written than is kept.
func (b *Buffer) Cut() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.total > int64(len(b.kept))
}
