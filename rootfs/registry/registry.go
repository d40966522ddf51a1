// Package registry pulls images from registries into an image layout, by the OCI distribution specification.
// Everything that comes is hostile until its digest and size are verified; sizes are bounded before anything is
// downloaded.
package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Options of a pull; the zero value pulls anonymously for this machine's architecture.
type Options struct {
	// Platform is what the image must run on; where it has no Architecture, this machine's.
	Platform ocispec.Platform
	// Credentials tell who is asking; nil asks anonymously.
	Credentials Credentials
	// PlainHTTP asks without TLS. A loopback address is asked with TLS first, and without where it speaks none.
	PlainHTTP bool
	// MaxBytes bounds the sum of what is downloaded; 0 means 32 GiB.
	MaxBytes int64
	// Progress, where not nil, is told how many bytes of a blob are there, by several goroutines.
	Progress func(blob ocispec.Descriptor, done int64)
	// Log is told of what is tried again; nil tells nobody.
	Log *slog.Logger
	// Stall ends a connection from which nothing came for so long; 0 means a minute. It is then tried again.
	Stall time.Duration
	// Backoff is the first pause before something is tried again, which doubles; 0 means half a second.
	Backoff time.Duration
	// UserAgent is sent with every request; "" means scidex-oci.
	UserAgent string
}

func (o *Options) applyDefaults() {
	if o.Platform.Architecture == "" {
		o.Platform = ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH}
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = 32 << 30
	}
	if o.Progress == nil {
		o.Progress = func(ocispec.Descriptor, int64) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Stall == 0 {
		o.Stall = time.Minute
	}
	if o.Backoff == 0 {
		o.Backoff = time.Second / 2
	}
	if o.UserAgent == "" {
		o.UserAgent = "scidex-oci"
	}
}

// parallel is how many blobs are downloaded at once, as Docker does.
const parallel = 3

// puller is one pull.
type puller struct {
	Options
	repo *remote.Repository
	into *layout.Layout
}

// Pull downloads an image and returns its manifest, which is in the layout with all it refers to, verified. Blobs
// that are there already are verified and not downloaded, those that somebody else is downloading are waited for,
// and those that a broken pull has left go on where it stopped. The layout is to be held (layout.Hold) until the
// image has a name.
func Pull(ctx context.Context, ref Reference, into *layout.Layout, o Options) (ocispec.Descriptor, error) {
	o.applyDefaults()
	p := &puller{Options: o, into: into}
	defer p.connect(ref)()
	desc, err := p.pull(ctx)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("pull %s: %w", ref.Familiar(), printable{explain(err, ref)})
	}
	return desc, nil
}

func (p *puller) pull(ctx context.Context) (ocispec.Descriptor, error) {
	desc, data, err := p.resolve(ctx)
	if err != nil {
		return desc, err
	}
	for depth := 0; layout.IsIndex(desc.MediaType); depth++ {
		if depth == maxIndexes {
			return desc, fmt.Errorf("more than %d indexes lie in each other", maxIndexes)
		}
		index, err := layout.ParseIndex(desc.MediaType, data)
		if err != nil {
			return desc, err
		}
		if desc, err = choose(index.Manifests, p.Platform); err != nil {
			return desc, err
		}
		if data, err = p.manifest(ctx, desc); err != nil {
			return desc, err
		}
	}
	m, err := layout.ParseManifest(desc.MediaType, data)
	if err == nil {
		err = p.check(m)
	}
	if err == nil {
		err = p.blobs(ctx, m)
	}
	if err == nil {
		err = p.into.Put(ctx, desc, bytes.NewReader(data))
	}
	return ocispec.Descriptor{MediaType: desc.MediaType, Digest: desc.Digest, Size: desc.Size}, err
}

// maxIndexes bounds how deep an index may lie in others.
const maxIndexes = 2

// resolve fetches what the reference names: a manifest or an index.
func (p *puller) resolve(ctx context.Context) (ocispec.Descriptor, []byte, error) {
	desc, body, err := p.repo.Manifests().FetchReference(ctx, p.repo.Reference.Reference)
	if p.speaksPlainHTTP(err) {
		p.repo.PlainHTTP = true
		desc, body, err = p.repo.Manifests().FetchReference(ctx, p.repo.Reference.Reference)
	}
	if err != nil {
		return desc, nil, err
	}
	data, err := readManifest(desc, body)
	return desc, data, err
}

func (p *puller) manifest(ctx context.Context, desc ocispec.Descriptor) ([]byte, error) {
	if err := checkManifest(desc); err != nil {
		return nil, err
	}
	body, err := p.repo.Manifests().Fetch(ctx, desc)
	if err != nil {
		return nil, err
	}
	return readManifest(desc, body)
}

// readManifest reads exactly what the descriptor promises.
func readManifest(desc ocispec.Descriptor, body io.ReadCloser) ([]byte, error) {
	defer body.Close()
	if err := checkManifest(desc); err != nil {
		return nil, err
	}
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, fmt.Errorf("manifest %s: %w", desc.Digest, err)
	}
	return data, nil
}

// blobs downloads the config, which tells whether the layers are wanted, and then those.
func (p *puller) blobs(ctx context.Context, m ocispec.Manifest) error {
	if err := p.blob(ctx, m.Config); err != nil {
		return err
	}
	config, err := p.into.Document(m.Config)
	if err != nil {
		return err
	}
	if err := checkConfig(config, len(m.Layers), p.Platform); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	seen := make(map[ocispecKey]bool)
	for _, layer := range m.Layers {
		key := ocispecKey{layer.Digest, layer.Size}
		if seen[key] {
			continue
		}
		seen[key] = true
		group.Go(func() error { return p.blob(ctx, layer) })
	}
	return group.Wait()
}

// blob brings one blob into the layout.
func (p *puller) blob(ctx context.Context, desc ocispec.Descriptor) error {
	w, err := p.into.Writer(ctx, desc)
	if errors.Is(err, layout.ErrExists) {
		p.Progress(desc, desc.Size)
		return nil
	}
	if err != nil {
		return err
	}
	defer w.Close()
	return (&download{puller: p, desc: desc, to: w}).run(ctx)
}
