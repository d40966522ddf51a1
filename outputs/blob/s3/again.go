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

// once is what a request sends, of so many bytes. It cannot be set back, so that the client sends it once: where an answer comes before all
// was sent, the connection may go on reading it for a moment (net/http), while the client's next try read from it as well. Where
// there is nothing to read the client has to see that.
func once(r io.Reader, size int64) io.Reader {
	if size == 0 {
		return bytes.NewReader(nil)
	}
	return struct{ io.Reader }{r}
}

// again makes a request whose body is made anew for each try, up to tries times, while it fails in a way that may pass.
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
