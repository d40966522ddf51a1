package tablecmd

import (
	"context"
	"io"

	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// open opens an output. An error is that of its content.
func (j *join) open(ctx context.Context, s source) (io.ReadCloser, error) {
	content, err := j.stores.Blobs.Open(ctx, s.SHA256)
	if err != nil {
		return nil, &table.ReadError{Err: err}
	}
	return interruptible{content, ctx}, nil
}

// interruptible is a content whose reading ends with a context.
type interruptible struct {
	io.ReadCloser
	ctx context.Context //nolint:containedctx // a reader has no parameter for it
}

// Read reads, unless the context has ended.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.ReadCloser.Read(p)
}
