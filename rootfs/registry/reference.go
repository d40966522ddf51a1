package registry

import (
	"fmt"

	"github.com/distribution/reference"
	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// Reference names an image in a registry: HOST[:PORT]/PATH[:TAG][@DIGEST].
type Reference struct {
	named  reference.Named
	digest digest.Digest // "" where there is none
	tag    string        // "" where there is a digest alone
}

// Parse reads a reference by Docker's rules, as every tool for images does: without a host it means Docker Hub,
// "python" being docker.io/library/python; without tag and digest, "latest".
func Parse(given string) (Reference, error) {
	const maxReference = 512
	if len(given) > maxReference {
		return Reference{}, fmt.Errorf("the reference of an image has %d bytes; at most %d are allowed", len(given), maxReference)
	}
	named, err := reference.ParseNormalizedNamed(given)
	if err != nil {
		return Reference{}, fmt.Errorf("%q is no reference of an image (%w); write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST", given, err)
	}
	r := Reference{named: reference.TagNameOnly(named)}
	if tagged, ok := r.named.(reference.Tagged); ok {
		r.tag = tagged.Tag()
	}
	if digested, ok := r.named.(reference.Digested); ok {
		r.digest = digested.Digest()
		if r.digest.Algorithm() != digest.SHA256 {
			return Reference{}, fmt.Errorf("%q: only sha256 digests are supported", given)
		}
	}
	if err := r.remote().Validate(); err != nil {
		return Reference{}, fmt.Errorf("%q: %w", given, err)
	}
	return r, nil
}

// String is the whole reference, with the host.
func (r Reference) String() string { return r.named.String() }

// Familiar is the reference as people write it: without Docker Hub's host.
func (r Reference) Familiar() string { return reference.FamiliarString(r.named) }

// Digest is what the image is pinned to, or "".
func (r Reference) Digest() digest.Digest { return r.digest }

// remote is what is asked for. A digest says all: its tag may have moved on since.
func (r Reference) remote() registry.Reference {
	to := registry.Reference{Registry: reference.Domain(r.named), Repository: reference.Path(r.named), Reference: r.tag}
	if r.digest != "" {
		to.Reference = r.digest.String()
	}
	return to
}
