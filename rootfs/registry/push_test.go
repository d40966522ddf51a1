package registry

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// textFile is a file of these tests, which counts how often it is opened; files are uploaded at the same time.
func textFile(name, text string, opened *atomic.Int64) File {
	sum := sha256.Sum256([]byte(text))
	return File{
		MediaType: "text/plain", SHA256: hex.EncodeToString(sum[:]), Size: int64(len(text)),
		Annotations: map[string]string{ocispec.AnnotationTitle: name},
		Open: func(context.Context) (io.ReadCloser, error) {
			opened.Add(1)
			return io.NopCloser(strings.NewReader(text)), nil
		},
	}
}

// TestPush: another client reads what was pushed, and finds what refers to it. Blobs that are there are not sent again,
// and the same files give the same artifact.
func TestPush(t *testing.T) {
	for name, s := range map[string]*registrytest.Server{
		"TLS and a password":      registrytest.Start(t, authority),
		"no TLS, on this machine": registrytest.Start(t, authority, registrytest.Plain),
		"tokens":                  registrytest.Start(t, authority, registrytest.Tokens(registrytest.TokenServer(t, authority))),
	} {
		t.Run(name, func(t *testing.T) {
			ref, err := Parse(s.Address + "/outputs/fit:1")
			if err != nil {
				t.Fatal(err)
			}
			var opened atomic.Int64
			outputs := Artifact{Type: "application/vnd.example", Files: []File{textFile("a.txt", "a", &opened), textFile("d/b.txt", "bb", &opened), textFile("same.txt", "a", &opened)}}
			about := func(first ocispec.Descriptor) Artifact {
				return Artifact{Type: "application/vnd.about", Subject: &first, Files: []File{textFile("about.txt", "about", &opened)}}
			}
			pushed, err := Push(t.Context(), ref, options(), outputs, about)
			if err != nil || len(pushed) != 2 {
				t.Fatalf("%v, %v", pushed, err)
			}
			before := opened.Load()
			again, err := Push(t.Context(), ref, options(), outputs, about)
			if err != nil || opened.Load() != before || again[0].Digest != pushed[0].Digest || again[1].Digest != pushed[1].Digest {
				t.Errorf("again: %v, %v, opened %d and then %d", again, err, before, opened.Load())
			}
			repo := reader(t, ref)
			desc, err := repo.Resolve(t.Context(), "1")
			if err != nil || desc.Digest != pushed[0].Digest {
				t.Fatalf("%v, %v", desc, err)
			}
			layers, err := content.Successors(t.Context(), repo, desc)
			if err != nil || len(layers) != 4 {
				t.Fatalf("%v, %v", layers, err)
			}
			if data, err := content.FetchAll(t.Context(), repo, layers[2]); err != nil || string(data) != "bb" || layers[2].Annotations[ocispec.AnnotationTitle] != "d/b.txt" {
				t.Errorf("%q, %v of %v", data, err, layers[2])
			}
			var referrers []ocispec.Descriptor
			err = repo.Referrers(t.Context(), desc, "application/vnd.about", func(found []ocispec.Descriptor) error {
				referrers = append(referrers, found...)
				return nil
			})
			if err != nil || len(referrers) != 1 || referrers[0].Digest != pushed[1].Digest {
				t.Errorf("%v, %v", referrers, err)
			}
		})
	}
}

// reader is a client of oras' own.
func reader(t *testing.T, ref Reference) *remote.Repository {
	t.Helper()
	how := options()
	how.applyDefaults()
	p := &puller{Options: how, from: source{Reference: ref}}
	t.Cleanup(p.connect())
	if err := p.probeTLS(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p.repo
}

// TestPushRefused: an artifact that cannot be pushed is an error, and no tag is made.
func TestPushRefused(t *testing.T) {
	s := registrytest.Start(t, authority)
	var opened atomic.Int64
	file := textFile("a.txt", "a", &opened)
	broken := file
	broken.Open = func(context.Context) (io.ReadCloser, error) { return nil, errors.New("the blob is damaged") }
	wrong := textFile("a.txt", "a", &opened)
	wrong.Open = func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader([]byte("b"))), nil }
	many := Artifact{}
	for range 40_000 {
		many.Files = append(many.Files, file)
	}
	anonymous := options()
	anonymous.Credentials = nil
	for title, c := range map[string]struct {
		ref  string
		o    Options
		a    Artifact
		want string
	}{
		"a digest":       {"/x:1@sha256:" + file.SHA256, options(), Artifact{}, "give only a tag"},
		"no credentials": {"/x:2", anonymous, Artifact{Files: []File{file}}, "docker login"},
		"unreadable":     {"/x:3", options(), Artifact{Files: []File{broken}}, "the blob is damaged"},
		"other contents": {"/x:4", options(), Artifact{Files: []File{wrong}}, "digest"},
		"too many files": {"/x:5", options(), many, "push an archive"},
	} {
		t.Run(title, func(t *testing.T) {
			ref, err := Parse(s.Address + c.ref)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Push(t.Context(), ref, c.o, c.a); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
			ref.digest = ""
			if _, err := reader(t, ref).Resolve(t.Context(), ref.tag); err == nil {
				t.Error("there is a tag")
			}
		})
	}
}
