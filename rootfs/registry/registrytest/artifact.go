package registrytest

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/file"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
)

// Pull writes the files of an artifact into a directory, as "oras pull" does, and returns its manifest.
func (s *Server) Pull(t testing.TB, repository, reference, dir string) ocispec.Descriptor {
	t.Helper()
	store, err := file.New(dir)
	try(t, err)
	defer store.Close()
	desc, err := oras.Copy(t.Context(), s.repository(t, repository), reference, store, "", oras.DefaultCopyOptions)
	try(t, err)
	return desc
}

// Referrers are the manifests whose subject is the one with the digest, as "oras discover" lists them.
func (s *Server) Referrers(t testing.TB, repository string, of digest.Digest) (all []ocispec.Descriptor) {
	t.Helper()
	subject := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: of}
	try(t, s.repository(t, repository).Referrers(t.Context(), subject, "", func(found []ocispec.Descriptor) error {
		all = append(all, found...)
		return nil
	}))
	return all
}

func (s *Server) repository(t testing.TB, name string) *remote.Repository {
	t.Helper()
	repo, err := remote.NewRepository(s.Address + "/" + name)
	try(t, err)
	trusted := x509.NewCertPool()
	authority, err := os.ReadFile(s.Authority.File)
	try(t, err)
	trusted.AppendCertsFromPEM(authority)
	repo.Client = &auth.Client{
		Client:     &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}},
		Credential: auth.StaticCredential(s.Address, auth.Credential{Username: User, Password: Password}),
	}
	return repo
}
