package registry

import (
	"context"
	"errors"
	"io"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
)

// errNotTaken ends an upload to a registry that keeps the connection open and takes no bytes.
var errNotTaken = errors.New("the registry took nothing for too long")

// upload sends a file that the registry does not have. If the connection breaks or stalls, it is sent again from its start.
func (p *puller) upload(ctx context.Context, file File) error {
	desc := file.descriptor()
	there, err := p.repo.Blobs().Exists(ctx, desc)
	if err != nil || there {
		return err
	}
	pause := backoff.Backoff{First: p.backoff}
	for try := 1; ; try++ {
		err := p.send(ctx, desc, file)
		if err == nil || !retryable(err) || try == maxTries {
			return err
		}
		p.Log.Warn("an upload is tried again", "digest", desc.Digest, "error", printable{err})
		if !pause.Wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

// send uploads a file once.
func (p *puller) send(ctx context.Context, desc ocispec.Descriptor, file File) error {
	content, err := file.Open(ctx)
	if err != nil {
		return err
	}
	defer content.Close()
	sending, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := newWatch(p.stall, func() { cancel(errNotTaken) })
	defer watch.Stop()
	err = p.repo.Blobs().Push(sending, desc, &watched{content, watch, p.stall})
	if err != nil && errors.Is(context.Cause(sending), errNotTaken) {
		return errNotTaken
	}
	return err
}

// newWatch is a timer that does not run yet.
func newWatch(length time.Duration, expired func()) *time.Timer {
	watch := time.AfterFunc(length, expired)
	watch.Stop()
	return watch
}

// watched is content whose watch runs between two reads, while the reader sends what it got.
type watched struct {
	io.Reader
	watch *time.Timer
	most  time.Duration
}

// Read implements io.Reader.
func (w *watched) Read(buffer []byte) (int, error) {
	w.watch.Stop()
	defer w.watch.Reset(w.most)
	return w.Reader.Read(buffer)
}
