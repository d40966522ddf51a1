package s3

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// once is a request body of a given size. It is no io.Seeker, so that the client sends it once: if an answer comes before
// the whole body was sent, the connection may still read it for a moment (net/http), while the client's retry reads it as
// well. An empty body must look empty to the client.
func once(r io.Reader, size int64) io.Reader {
	if size == 0 {
		return bytes.NewReader(nil)
	}
	return struct{ io.Reader }{r}
}

// again makes a request with a new body for each try, up to tries times, while it fails with a transient error.
func again(ctx context.Context, request func() error) error {
	const shortest, longest = 200 * time.Millisecond, time.Second
	for n, wait := 1, shortest; ; n, wait = n+1, min(2*wait, longest) {
		err := request()
		if n == tries || !errors.Is(err, blob.ErrPasses) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait/2 + rand.N(wait/2)):
		}
	}
}
