package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// unseekable is a request body of a given size. It is no io.Seeker, so that the client sends it once: if an answer comes before
// the whole body was sent, the connection may still read it for a moment (net/http), while the client's retry reads it as
// well. An empty body must look empty to the client.
func unseekable(r io.Reader, size int64) io.Reader {
	if size == 0 {
		return bytes.NewReader(nil)
	}
	return struct{ io.Reader }{r}
}

// retry makes a request with a new body for each try, up to tries times, while it fails with a transient error.
func retry(ctx context.Context, request func() error) error {
	pause := backoff.Backoff{First: 200 * time.Millisecond, Longest: time.Second}
	for n := 1; ; n++ {
		err := request()
		if n == tries || !errors.Is(err, blob.ErrTransient) || !pause.Wait(ctx) {
			return err
		}
	}
}
