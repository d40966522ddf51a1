package servecmd

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/session"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// mostRead bounds the bytes of an output in one answer.
const mostRead = 512 << 10

// readParams are the parameters of read.
type readParams struct {
	ID     string `json:"id"`
	Path   string `json:"path"`
	Offset int64  `json:"offset"`
	Length int    `json:"length"` // bytes at most
}

// readAnswer is a piece of an output.
type readAnswer struct {
	Base64 []byte `json:"base64"`
	Size   int64  `json:"size"` // of the whole
	SHA256 string `json:"sha256"`
}

// read answers with a piece of an output. The piece that reaches the end is sent only if the digest of the whole is right.
func (p *peer) read(ctx context.Context, r rpc.Request) (any, error) {
	params := readParams{Length: mostRead}
	if err := readNamed(r, &params, &params.ID); err != nil {
		return nil, err
	}
	if params.Offset < 0 || params.Length < 1 || params.Length > mostRead {
		return nil, rpc.Errorf(rpc.CodeInvalidParams, "params: offset %d, length %d: give a number of bytes from 0 on, and one from 1 to %d", params.Offset, params.Length, mostRead)
	}
	entry, err := p.output(ctx, params.ID, params.Path)
	if err != nil {
		return nil, err
	}
	done, err := p.Reading(ctx)
	if err != nil {
		return nil, err
	}
	defer done()
	answer := readAnswer{Base64: []byte{}, Size: entry.Size, SHA256: entry.SHA256}
	if params.Offset < entry.Size {
		length := min(int64(params.Length), entry.Size-params.Offset)
		answer.Base64, err = p.piece(ctx, entry.SHA256, params.Offset, length, params.Offset+length == entry.Size)
	}
	if err != nil {
		return nil, fmt.Errorf("output %q of run %q: %w", params.Path, params.ID, err)
	}
	return answer, nil
}

// output finds an output by its path.
func (p *peer) output(ctx context.Context, id, path string) (outputs.Entry, error) {
	run, err := p.Find(ctx, id)
	if err != nil {
		return outputs.Entry{}, err
	}
	entry, err := p.Output(ctx, run, path)
	var missing *session.NotFoundError
	if errors.As(err, &missing) {
		err = rpc.Errorf(rpc.CodeNotFound, "params: path: %v; \"outputs\" lists them", err)
	}
	return entry, err
}

// cursor is a blob that is open, and how far it was read.
type cursor struct {
	sha256 string
	at     int64
	from   io.ReadCloser
}

// piece reads a part of a blob. It goes on where the last piece of this connection ended, so that a caller who reads an output
// from its start to its end has it read once.
func (p *peer) piece(ctx context.Context, sha256 string, offset, length int64, last bool) ([]byte, error) {
	c, err := p.cursorAt(ctx, sha256, offset)
	if err != nil {
		return nil, err
	}
	piece := make([]byte, length)
	n, err := io.ReadFull(c.from, piece)
	c.at += int64(n)
	if err != nil {
		c.from.Close()
		return nil, err
	}
	if last { // its digest is known now
		_, err = io.Copy(io.Discard, c.from)
		c.from.Close()
		return piece, err
	}
	p.keep(c)
	return piece, nil
}

// cursorAt is the connection's own one, or one that was opened here.
func (p *peer) cursorAt(ctx context.Context, sha256 string, offset int64) (*cursor, error) {
	p.mu.Lock()
	c := p.cursor
	if c != nil && c.sha256 == sha256 && c.at <= offset {
		p.cursor = nil
	} else {
		c = nil
	}
	p.mu.Unlock()
	if c == nil {
		from, err := p.Stores.Blobs.Open(context.WithoutCancel(ctx), sha256) // it outlives this request
		if err != nil {
			return nil, err
		}
		c = &cursor{sha256: sha256, from: from}
	}
	n, err := io.CopyN(io.Discard, c.from, offset-c.at)
	if c.at += n; err != nil {
		c.from.Close()
		return nil, err
	}
	return c, nil
}

// keep leaves a cursor to the next request, in place of another.
func (p *peer) keep(c *cursor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.drop()
	if p.gone {
		c.from.Close()
		return
	}
	p.cursor = c
}

// drop closes the cursor.
func (p *peer) drop() {
	if p.cursor != nil {
		p.cursor.from.Close()
		p.cursor = nil
	}
}
