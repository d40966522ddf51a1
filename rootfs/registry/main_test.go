package registry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// authority signs for every server of the tests: SSL_CERT_FILE is read once per process.
var authority *registrytest.Authority

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "registry")
	if err == nil {
		authority, err = registrytest.MakeAuthority(dir)
	}
	if err == nil {
		err = os.Setenv("SSL_CERT_FILE", authority.File)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// password is the one that the registries of the tests accept.
func password(context.Context, string, string) (auth.Credential, error) {
	return auth.Credential{Username: registrytest.User, Password: registrytest.Password}, nil
}

func options() Options { return Options{Credentials: password, backoff: time.Millisecond} }

func empty(t *testing.T) *layout.Layout {
	t.Helper()
	l, err := layout.Open(t.TempDir())
	must(t, err)
	return l
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func mustParse(t *testing.T, given string) Reference {
	t.Helper()
	ref, err := Parse(given)
	must(t, err)
	return ref
}

func pull(t *testing.T, ref string, into *layout.Layout, o Options) (ocispec.Descriptor, error) {
	t.Helper()
	return Pull(t.Context(), mustParse(t, ref), into, o)
}

// site is a registry with one image "image:1" of three layers, and a proxy before it.
type site struct {
	*registrytest.Proxy
	server   *registrytest.Server
	ref      string // of the image, through the proxy
	manifest ocispec.Manifest
	desc     ocispec.Descriptor
}

const layerSize = 3 << 20

// newSite pulls the image once, so that the tests know what it consists of.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{server: registrytest.Start(t, authority)}
	s.server.Push(t, registrytest.Image(t, layerSize, 1000, 2000), "image:1")
	s.Proxy = registrytest.NewProxy(t, s.server)
	s.ref = s.Address + "/image:1"
	l := empty(t)
	var err error
	s.desc, err = pull(t, s.ref, l, options())
	must(t, err)
	data, err := l.Document(s.desc)
	must(t, err)
	s.manifest, err = layout.ParseManifest(s.desc.MediaType, data)
	must(t, err)
	return s
}

// big is the layer that faults are tried on.
func (s *site) big() ocispec.Descriptor { return s.manifest.Layers[0] }

// expectWhole names the image, which reads nothing, and reads everything.
func (s *site) expectWhole(t *testing.T, l *layout.Layout, desc ocispec.Descriptor) {
	t.Helper()
	if desc.Digest != s.desc.Digest {
		t.Errorf("pulled %s, want %s", desc.Digest, s.desc.Digest)
	}
	must(t, l.Tag(t.Context(), "image", desc))
	for _, d := range append(s.manifest.Layers, s.manifest.Config, desc) {
		r, err := l.Blob(d)
		must(t, err)
		_, err = digest.SHA256.FromReader(r)
		must(t, err, r.Close())
	}
}

// expectNothing demands that no blob of these is there.
func expectNothing(t *testing.T, l *layout.Layout, descs ...ocispec.Descriptor) {
	t.Helper()
	for _, d := range descs {
		if has, err := l.Has(d); has || err != nil {
			t.Errorf("%s is there: %v", d.Digest, err)
		}
	}
}

func expectRefusal(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("got %v, want %q in it", err, word)
		}
	}
}

// on is a fault for the requests whose path contains a word, the first so many of them.
func on(word string, times int, fault registrytest.Fault) registrytest.Fault {
	var mutex sync.Mutex
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		mutex.Lock()
		hit := strings.Contains(r.URL.Path, word) && r.Header.Get("Authorization") != "" && times > 0
		if hit {
			times--
		}
		mutex.Unlock()
		if hit {
			fault(w, r, next)
		} else {
			next.ServeHTTP(w, r)
		}
	}
}

const always = 1 << 30

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

// partial is the partial file of a blob in a layout.
func partial(l *layout.Layout, blob ocispec.Descriptor) string {
	return filepath.Join(l.Dir(), "ingest", blob.Digest.Encoded(), "partial")
}
