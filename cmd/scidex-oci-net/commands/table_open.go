package commands

import (
	"context"
	"io"

	"github.com/scidex-ai/scidex-oci/internal/bounded"
	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// open opens an output. A failure counts as one of reading its content (table.ReadError).
func (j *tableJoin) open(ctx context.Context, s tableSource) (io.ReadCloser, error) {
	content, err := j.stores.Blobs.Open(ctx, s.SHA256)
	if err != nil {
		return nil, &table.ReadError{Err: err}
	}
	return struct {
		io.Reader
		io.Closer
	}{bounded.Until(ctx, content), content}, nil
}
