package serve

import (
	"context"
	"errors"
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine"
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
	entry, err := p.find(ctx, params.ID, params.Path)
	if err != nil {
		return nil, err
	}
	piece, err := p.reader.Read(ctx, entry, params.Offset, int64(params.Length), false)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("output %q of run %q: %w", params.Path, params.ID, err)
	}
	return readAnswer{Base64: piece, Size: entry.Size, SHA256: entry.SHA256}, nil
}

// find finds an output by its path.
func (p *peer) find(ctx context.Context, id, path string) (outputs.Entry, error) {
	run, err := p.Engine.Find(ctx, id)
	if err != nil {
		return outputs.Entry{}, err
	}
	entry, err := p.Engine.Output(ctx, run, path)
	var missing *engine.NotFoundError
	if errors.As(err, &missing) {
		err = rpc.Errorf(rpc.CodeNotFound, "params: path: %v; \"outputs\" lists them", err)
	}
	return entry, err
}
