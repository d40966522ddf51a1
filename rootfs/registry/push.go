package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"golang.org/x/sync/errgroup"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// Artifact is what is pushed: files, as layers of an OCI manifest (image-spec, "Guidelines for Artifact Usage").
type Artifact struct {
	Type        string
	Annotations map[string]string
	Files       []File
	// Subject is the manifest that this one is about (a "referrer" of it); nil for none. It must be in the same repository.
	Subject *ocispec.Descriptor
}

// File is a layer.
type File struct {
	MediaType   string
	SHA256      string // hex
	Size        int64
	Annotations map[string]string
	Open        func(ctx context.Context) (io.ReadCloser, error)
}

func (f File) descriptor() ocispec.Descriptor {
	return ocispec.Descriptor{MediaType: f.MediaType, Digest: digest.NewDigestFromEncoded(digest.SHA256, f.SHA256), Size: f.Size, Annotations: f.Annotations}
}

// Push uploads artifacts, and each after the files that it names. The first gets the tag of the reference; a reference with a digest is
// refused. It returns their manifests. What the registry has already is not sent again.
func Push(ctx context.Context, ref Reference, o Options, first Artifact, about ...func(first ocispec.Descriptor) Artifact) (pushed []ocispec.Descriptor, err error) {
	o.applyDefaults()
	if ref.digest != "" {
		return nil, fmt.Errorf("push to %s: what is pushed has a digest of its own; give only a tag", ref.given)
	}
	if _, err := hostTLS(o.CertDirs, ref.host); err != nil {
		return nil, err
	}
	p := &puller{Options: o, from: source{Reference: ref, plain: o.PlainHTTP || o.Sites[canonical(ref.host)].PlainHTTP}}
	defer p.connect()()
	pushed, err = p.push(ctx, first, about)
	if err != nil {
		return nil, fmt.Errorf("push to %s: %w", ref.given, printable{p.explain(err)})
	}
	return pushed, nil
}

func (p *puller) push(ctx context.Context, first Artifact, about []func(ocispec.Descriptor) Artifact) ([]ocispec.Descriptor, error) {
	if err := p.probeTLS(ctx); err != nil {
		return nil, err
	}
	desc, err := p.artifact(ctx, first, p.from.tag)
	if err != nil {
		return nil, err
	}
	pushed := []ocispec.Descriptor{desc}
	for _, artifact := range about {
		next, err := p.artifact(ctx, artifact(desc), "")
		if err != nil {
			return nil, err
		}
		pushed = append(pushed, next)
	}
	return pushed, nil
}

// probeTLS finds out whether the registry speaks TLS.
func (p *puller) probeTLS(ctx context.Context) error {
	_, err := p.repo.Blobs().Exists(ctx, ocispec.DescriptorEmptyJSON)
	if p.speaksPlainHTTP(err) {
		p.repo.PlainHTTP = true
		_, err = p.repo.Blobs().Exists(ctx, ocispec.DescriptorEmptyJSON)
	}
	return err
}

// artifact uploads files and then the manifest, so that it names nothing that is missing.
func (p *puller) artifact(ctx context.Context, a Artifact, tag string) (ocispec.Descriptor, error) {
	manifest, err := a.manifest()
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, ArtifactType: a.Type, Digest: digest.FromBytes(manifest), Size: int64(len(manifest))}
	group, filling := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, file := range append([]File{emptyConfig}, a.Files...) {
		group.Go(func() error { return p.upload(filling, file) })
	}
	if err := group.Wait(); err != nil {
		return desc, err
	}
	if tag == "" {
		return desc, p.repo.Manifests().Push(ctx, desc, bytes.NewReader(manifest))
	}
	return desc, p.repo.Manifests().PushReference(ctx, desc, bytes.NewReader(manifest), tag)
}

// emptyConfig is the config of an artifact that has none.
var emptyConfig = File{
	MediaType: ocispec.MediaTypeEmptyJSON, SHA256: ocispec.DescriptorEmptyJSON.Digest.Encoded(), Size: ocispec.DescriptorEmptyJSON.Size,
	Open: func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(ocispec.DescriptorEmptyJSON.Data)), nil
	},
}

// manifest is that of the artifact. The same files give the same manifest.
func (a Artifact) manifest() ([]byte, error) {
	m := ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: a.Type,
		Config: emptyConfig.descriptor(), Layers: []ocispec.Descriptor{}, Subject: a.Subject, Annotations: a.Annotations,
	}
	for _, file := range a.Files {
		m.Layers = append(m.Layers, file.descriptor())
	}
	manifest, err := json.Marshal(m)
	if err == nil && len(manifest) > layout.MaxManifest {
		err = fmt.Errorf("the manifest of %d files has %d bytes, and registries take %d; push an archive of them in their place", len(a.Files), len(manifest), layout.MaxManifest)
	}
	return manifest, err
}
