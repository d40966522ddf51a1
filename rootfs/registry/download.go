package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"syscall"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Limits on retries without progress, and the bytes that count as progress.
const (
	maxFailures = 5
	progressed  = 1 << 20
)

// download fetches one blob, over one or more connections.
type download struct {
	*puller
	desc ocispec.Descriptor
	to   *layout.Writer
	// spliced says that the bytes come from several connections, the first perhaps from before a power cut: if their
	// digest is wrong, they are fetched again, once.
	spliced, anew bool
}

func (d *download) run(ctx context.Context) error {
	pause := backoff.Backoff{First: d.backoff}
	for failures, from := 0, d.to.Offset(); ; failures++ {
		err := d.attempt(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if d.to.Offset()-from >= progressed {
			failures, from = 0, d.to.Offset()
			pause.Reset()
		}
		var broken *brokenError
		if !errors.As(err, &broken) || failures >= maxFailures || d.from.mirror && errors.Is(err, errStalled) {
			return err // what was downloaded is kept for the next source
		}
		d.Log.Warn("a download broke off and goes on", "blob", d.desc.Digest, "at", d.to.Offset(), "of", d.desc.Size, "error", err)
		if !pause.Wait(ctx) {
			return context.Cause(ctx)
		}
	}
}

// attempt downloads the missing bytes over one connection, and commits a complete blob.
func (d *download) attempt(ctx context.Context) error {
	if d.to.Offset() < d.desc.Size || d.desc.Size == 0 {
		if err := d.receive(ctx); err != nil {
			return err
		}
	}
	err := d.to.Commit()
	if errors.Is(err, layout.ErrMismatch) && d.spliced && !d.anew {
		d.spliced, d.anew = false, true // Commit has dropped all bytes
		return &brokenError{err}
	}
	return err
}

func (d *download) receive(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body, err := d.repo.Blobs().Fetch(ctx, d.desc)
	if err != nil {
		return refused(err)
	}
	defer body.Close()
	if err := d.seek(body); err != nil {
		return refused(err)
	}
	d.Progress(d.desc, d.to.Offset())
	watch := time.AfterFunc(d.stall, func() { cancel(errStalled) })
	defer watch.Stop()
	buffer := make([]byte, 128<<10)
	for {
		watch.Reset(d.stall)
		n, err := body.Read(buffer)
		watch.Stop()
		if _, err := d.to.Write(buffer[:n]); err != nil {
			return err
		}
		if n > 0 {
			d.Progress(d.desc, d.to.Offset())
		}
		switch {
		case errors.Is(context.Cause(ctx), errStalled):
			return &brokenError{errStalled}
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, io.EOF) && d.to.Offset() < d.desc.Size:
			return &brokenError{fmt.Errorf("blob %s: the server sent %d of %d bytes", d.desc.Digest, d.to.Offset(), d.desc.Size)}
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &brokenError{err}
		}
	}
}

// seek continues at the end of the partial file. If the server cannot, it starts over.
func (d *download) seek(body io.Reader) error {
	if d.to.Offset() == 0 {
		return nil
	}
	seeker, can := body.(io.Seeker)
	if !can {
		return d.to.Reset()
	}
	_, err := seeker.Seek(d.to.Offset(), io.SeekStart)
	var connection *url.Error
	if err == nil || errors.As(err, &connection) {
		d.spliced = true
		return err
	}
	// A status other than 206, or another failed retry.
	return errors.Join(&brokenError{err}, d.to.Reset())
}

// brokenError may be retried on another connection.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

var errStalled = errors.New("nothing came from the server for too long")

// refused marks a refused connection as transient: the registry did send the manifest. The client has retried the other
// transient errors.
func refused(err error) error {
	if errors.Is(err, syscall.ECONNREFUSED) {
		return &brokenError{err}
	}
	return err
}
