// Package registry pulls images from registries into an image layout, by the OCI distribution specification. All data is
// hostile until its digest and size are verified; sizes are bounded before a download.
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
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Options of a pull or a push; the zero value is anonymous.
type Options struct {
	// Credentials authenticate requests; nil is anonymous.
	Credentials Credentials
	// PlainHTTP disables TLS for the registry, not for its mirrors. Loopback addresses are tried with TLS first, and without
	// if they do not speak it.
	PlainHTTP bool
	// Sites are what is known about registries, by HOST[:PORT]; Docker's is docker.io.
	Sites map[string]Site
	// CertDirs are searched for HOST[:PORT] with a host's certificates; see the function CertDirs.
	CertDirs []string
	// Progress, if not nil, receives the bytes present of a blob, concurrently.
	Progress func(blob ocispec.Descriptor, done int64)
	// Log receives retries and mirrors that failed; nil discards them.
	Log *slog.Logger
	// UserAgent is sent with all requests; "" means scidex-oci.
	UserAgent string

	stall   time.Duration // the timeout of an idle connection, which is then retried; 0 means a minute
	backoff time.Duration // the first pause before a retry, which doubles; 0 means half a second
}

func (o *Options) applyDefaults() {
	if o.Progress == nil {
		o.Progress = func(ocispec.Descriptor, int64) {}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.stall == 0 {
		o.stall = time.Minute
	}
	if o.backoff == 0 {
		o.backoff = time.Second / 2
	}
	if o.UserAgent == "" {
		o.UserAgent = "scidex-oci"
	}
}

// maxBytes bounds the layers of an image together.
const maxBytes = 32 << 30

// machine is what an image must run on.
func machine() ocispec.Platform { return ocispec.Platform{OS: "linux", Architecture: runtime.GOARCH} }

// mirrorStall bounds how long a mirror holds up a pull that another source may serve.
const mirrorStall = 30 * time.Second

// parallel is the number of concurrent downloads, as in Docker.
const parallel = 3

// puller is one pull from one source.
type puller struct {
	Options
	from source
	repo *remote.Repository
	into *layout.Layout
}

// Pull downloads an image and returns its manifest, which is in the layout with all it refers to, verified. It verifies
// existing blobs without a download, waits for those that others are downloading, and resumes those of an interrupted
// pull. A mirror that fails is skipped; blobs from it that were verified are kept. The caller must hold the layout
// (layout.Hold) until the image has a name.
func Pull(ctx context.Context, ref Reference, into *layout.Layout, o Options) (ocispec.Descriptor, error) {
	o.applyDefaults()
	desc, err := o.pullFromAny(ctx, ref, into)
	if err != nil {
		return ocispec.Descriptor{}, fmt.Errorf("pull %s: %w", ref.given, printable{err})
	}
	return desc, nil
}

func (o *Options) pullFromAny(ctx context.Context, ref Reference, into *layout.Layout) (desc ocispec.Descriptor, err error) {
	sources, err := o.sources(ref)
	if err != nil {
		return desc, err
	}
	for _, from := range sources { // a damaged file of certificates is an error before anything is sent
		if _, err := hostTLS(o.CertDirs, from.host); err != nil {
			return desc, err
		}
	}
	for _, from := range sources {
		p := &puller{Options: *o, from: from, into: into}
		if from.mirror {
			p.stall = min(p.stall, mirrorStall)
		}
		desc, err = p.pullOnce(ctx)
		if err == nil || !from.mirror || final(ctx, err) {
			return desc, err
		}
		o.passedOver(ctx, from, err)
	}
	return desc, err
}

// passedOver logs why a mirror did not give the image. It is no warning if the mirror does not have it.
func (o *Options) passedOver(ctx context.Context, from source, err error) {
	level := slog.LevelWarn
	if errors.Is(err, errdef.ErrNotFound) {
		level = slog.LevelInfo
	}
	o.Log.Log(ctx, level, "a mirror is passed over", "mirror", from.host+"/"+from.path, "error", printable{err})
}

func (p *puller) pullOnce(ctx context.Context) (ocispec.Descriptor, error) {
	defer p.connect()()
	desc, err := p.pull(ctx)
	if err != nil {
		return desc, p.explain(err)
	}
	p.Log.Info("an image was pulled", "from", p.from.host+"/"+p.from.path, "digest", desc.Digest)
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
		if desc, err = layout.Choose(index.Manifests, machine()); err != nil {
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

// maxIndexes bounds the nesting of indexes.
const maxIndexes = 2

// resolve fetches the manifest or index of the reference.
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

// readManifest reads exactly what the descriptor says.
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

// blobs downloads the config, which decides about the layers, and then the layers.
func (p *puller) blobs(ctx context.Context, m ocispec.Manifest) error {
	if err := p.blob(ctx, m.Config); err != nil {
		return err
	}
	config, err := p.into.Document(m.Config)
	if err != nil {
		return err
	}
	if err := checkConfig(config, len(m.Layers)); err != nil {
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

// blob pulls one blob into the layout.
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
	return (&download{puller: p, desc: desc, to: w, spliced: w.Offset() > 0}).run(ctx)
}
