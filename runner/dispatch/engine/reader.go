package engine

import (
	"context"
	"io"
	"sync"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// Reader reads outputs in pieces. It goes on where the last piece ended, so that an output that is read from its start to its end is
// read once. It is safe for concurrent use. Close it.
type Reader struct {
	ctx    context.Context // of what is open
	engine *Engine

	mu     sync.Mutex
	last   *position // in the output that was read last; nil: none
	closed bool
}

// position is an output that is open, and how far it was read.
type position struct {
	sha256 string
	at     int64
	from   io.ReadCloser
}

// NewReader makes a Reader, which reads until ctx ends.
func (e *Engine) NewReader(ctx context.Context) *Reader { return &Reader{ctx: ctx, engine: e} }

// Read returns a piece of an output, which is shorter than length only at its end. The one that reaches the end is returned only if
// the digest of the whole is right; with verify any is.
func (r *Reader) Read(ctx context.Context, e outputs.Entry, offset, length int64, verify bool) ([]byte, error) {
	if offset >= e.Size {
		return []byte{}, nil
	}
	done, err := r.engine.Reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	p, err := r.at(e.SHA256, offset)
	if err != nil {
		return nil, err
	}
	piece := make([]byte, min(length, e.Size-offset))
	n, err := io.ReadFull(p.from, piece)
	p.at += int64(n)
	if err != nil {
		p.from.Close()
		return nil, err
	}
	if verify || p.at == e.Size { // the digest is compared at the end
		_, err = io.Copy(io.Discard, p.from)
		p.from.Close()
		return piece, err
	}
	r.keep(p)
	return piece, nil
}

// at is where the last piece ended, if that is not after the offset, or the start of the output; then what is before the offset is read.
func (r *Reader) at(sha256 string, offset int64) (*position, error) {
	r.mu.Lock()
	p := r.last
	if p != nil && p.sha256 == sha256 && p.at <= offset {
		r.last = nil
	} else {
		p = nil
	}
	r.mu.Unlock()
	if p == nil {
		from, err := r.engine.host.Blobs.Open(r.ctx, sha256)
		if err != nil {
			return nil, err
		}
		p = &position{sha256: sha256, from: from}
	}
	n, err := io.CopyN(io.Discard, p.from, offset-p.at)
	if p.at += n; err != nil {
		p.from.Close()
		return nil, err
	}
	return p, nil
}

// keep leaves a position to the next piece, instead of another.
func (r *Reader) keep(p *position) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.drop()
	if r.closed {
		p.from.Close()
		return
	}
	r.last = p
}

func (r *Reader) drop() {
	if r.last != nil {
		r.last.from.Close()
		r.last = nil
	}
}

// Close closes what is open.
func (r *Reader) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.drop()
}
