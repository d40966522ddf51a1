package registry

import (
	"errors"
	"fmt"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry"
)

// Reference names an image in a registry: HOST[:PORT]/PATH[:TAG][@DIGEST].
type Reference struct {
	host, path string
	tag        string        // "" with only a digest
	digest     digest.Digest // "" if there is none
	given      string
}

// maxReference bounds a reference in bytes.
const maxReference = 512

// Parse reads a reference by Docker's rules, by default with tag "latest", except that it must name its registry. What
// other tools substitute for a missing host is a guess.
func Parse(given string) (Reference, error) {
	if len(given) > maxReference {
		return Reference{}, fmt.Errorf("the reference of an image has %d bytes; at most %d are allowed", len(given), maxReference)
	}
	r, err := parse(given)
	if err == nil {
		err = r.remote().Validate()
	}
	if err != nil {
		return Reference{}, fmt.Errorf("%q is no reference of an image (%w); write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST", given, err)
	}
	return r, nil
}

func parse(given string) (Reference, error) {
	base, sum, pinned := strings.Cut(given, "@")
	if strings.HasSuffix(base, ":") {
		return Reference{}, errors.New("the tag is empty")
	}
	if !hasRegistry(base) {
		return Reference{}, errors.New("it names no registry")
	}
	tag, err := name.NewTag(base)
	if err != nil {
		return Reference{}, err
	}
	r := Reference{host: tag.RegistryStr(), path: tag.RepositoryStr(), tag: tag.TagStr(), given: given}
	if r.host == name.DefaultRegistry { // oras and "docker login" use its other name
		r.host, _, _ = strings.Cut(base, "/")
	}
	if !pinned {
		return r, nil
	}
	r.digest = digest.Digest(sum)
	if err := r.digest.Validate(); err != nil {
		return r, err
	}
	if r.digest.Algorithm() != digest.SHA256 {
		return r, errors.New("only sha256 digests are supported")
	}
	if !strings.HasSuffix(base, ":"+r.tag) {
		r.tag = ""
	}
	return r, nil
}

// String is the whole reference, with the host.
func (r Reference) String() string {
	whole := r.host + "/" + r.path
	if r.tag != "" {
		whole += ":" + r.tag
	}
	if r.digest != "" {
		whole += "@" + r.digest.String()
	}
	return whole
}

// remote is the reference to request. A digest suffices: its tag may have moved.
func (r Reference) remote() registry.Reference {
	to := registry.Reference{Registry: r.host, Repository: r.path, Reference: r.tag}
	if r.digest != "" {
		to.Reference = r.digest.String()
	}
	return to
}
