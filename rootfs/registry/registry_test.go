package registry

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

func TestPull(t *testing.T) {
	server := registrytest.Start(t, authority)
	source := registrytest.Image(t, 100_000, 10)
	for format, mediaType := range map[string]string{"oci": ocispec.MediaTypeImageManifest, "v2s2": layout.MediaTypeDockerManifest} {
		ref := server.Address + "/team/" + format + ":1"
		server.Push(t, source, "team/"+format+":1", "--format", format)
		want := registrytest.Run(t, "skopeo", "inspect", "--format", "{{.Digest}}", "--cert-dir", authority.Dir,
			"--creds", registrytest.User+":"+registrytest.Password, "docker://"+ref)
		l := empty(t)
		desc, err := pull(t, ref, l, options())
		must(t, err)
		if desc.Digest.String() != want || desc.MediaType != mediaType {
			t.Errorf("%s: pulled %s, a %s, want %s", format, desc.Digest, desc.MediaType, want)
		}
		must(t, l.Tag(t.Context(), "image", desc))
		if format == "oci" { // skopeo reads the layout; it passes over images of Docker's media type in one
			registrytest.Run(t, "skopeo", "--insecure-policy", "copy", "oci:"+l.Dir()+":image", "dir:"+t.TempDir())
		}

		pinned := server.Address + "/team/" + format + "@" + want
		for _, ref := range []string{pinned, strings.Replace(pinned, "@", ":1@", 1), strings.Replace(pinned, "@", ":gone@", 1)} {
			if again, err := pull(t, ref, l, options()); err != nil || again.Digest != desc.Digest {
				t.Errorf("%s: %s %v", ref, again.Digest, err)
			}
		}
		other := server.Address + "/team/" + format + "@" + digest.FromString("other").String()
		_, err = pull(t, other, l, options())
		expectRefusal(t, err, "no such image")
	}
}

func TestPullSendsUserAgent(t *testing.T) {
	server := registrytest.Start(t, authority)
	server.Push(t, registrytest.Image(t, 10), "image:1")
	ref := server.Address + "/image:1"
	_, err := pull(t, ref, empty(t), Options{})
	expectRefusal(t, err, "docker login "+server.Address)
	_, err = pull(t, ref, empty(t), Options{Credentials: func(context.Context, string, string) (auth.Credential, error) {
		return auth.Credential{Username: registrytest.User, Password: "wrong"}, nil
	}})
	expectRefusal(t, err, "docker login "+server.Address)

	stranger := registrytest.Start(t, registrytest.NewAuthority(t))
	_, err = pull(t, stranger.Address+"/image:1", empty(t), options())
	expectRefusal(t, err, "not trusted", "SSL_CERT_FILE")

	_, err = pull(t, "127.0.0.1:1/image:1", empty(t), options())
	expectRefusal(t, err, "127.0.0.1:1 cannot be reached: ", "check the name and the network")
}

func TestPullWithTokens(t *testing.T) {
	realm := registrytest.TokenServer(t, authority)
	server := registrytest.Start(t, authority, registrytest.Tokens(realm))
	server.Push(t, registrytest.Image(t, 10), "image:1")
	_, err := pull(t, server.Address+"/image:1", empty(t), options())
	must(t, err)
	_, err = pull(t, server.Address+"/image:1", empty(t), Options{})
	expectRefusal(t, err, "401")
}

func TestPullWithoutTLSFromLoopbackOnly(t *testing.T) {
	server := registrytest.Start(t, authority, registrytest.Plain)
	server.Push(t, registrytest.Image(t, 10), "image:1")
	for _, host := range []string{"127.0.0.1", "localhost"} {
		_, err := pull(t, host+":"+server.Port()+"/image:1", empty(t), Options{})
		must(t, err)
	}
	_, err := pull(t, server.Address+"/image:1", empty(t), Options{PlainHTTP: true})
	must(t, err)
}

func TestCredentialFile(t *testing.T) {
	server := registrytest.Start(t, authority)
	server.Push(t, registrytest.Image(t, 10), "image:1")
	ref := server.Address + "/image:1"
	home := t.TempDir()
	must(t, os.Mkdir(home+"/.docker", 0o700))
	// As "docker login" writes it; skopeo does too.
	registrytest.Run(t, "skopeo", "login", "--authfile", home+"/.docker/config.json", "--cert-dir", authority.Dir,
		"--username", registrytest.User, "--password", registrytest.Password, server.Address)
	helper := fmt.Sprintf("#!/bin/sh\nprintf '{\"ServerURL\":\"x\",\"Username\":\"%s\",\"Secret\":\"%s\"}'\n", registrytest.User, registrytest.Password)
	must(t, os.WriteFile(home+"/docker-credential-test", []byte(helper), 0o700))
	must(t, os.WriteFile(home+"/helper.json", []byte(`{"credHelpers":{"`+server.Address+`":"test"}}`), 0o600))
	t.Setenv("PATH", home+":"+os.Getenv("PATH"))
	for _, env := range []map[string]string{
		{"HOME": home},
		{"HOME": "/none", "DOCKER_CONFIG": home + "/.docker"},
		{"HOME": "/none", "DOCKER_CONFIG": "/none", "REGISTRY_AUTH_FILE": home + "/.docker/config.json"},
		{"REGISTRY_AUTH_FILE": home + "/helper.json"},
	} {
		credentials, err := Stored(func(key string) string { return env[key] })
		must(t, err)
		if _, err := pull(t, ref, empty(t), Options{Credentials: credentials}); err != nil {
			t.Errorf("%v: %v", env, err)
		}
	}
	for _, env := range []map[string]string{{}, {"HOME": "/none"}} {
		credentials, err := Stored(func(key string) string { return env[key] })
		must(t, err)
		if got, err := credentials(t.Context(), server.Address, "image"); got != auth.EmptyCredential || err != nil {
			t.Errorf("%v: %v, %v", env, got, err)
		}
	}
	must(t, os.WriteFile(home+"/torn.json", []byte(`{"auths":`), 0o600))
	for _, file := range []string{"/none", home + "/torn.json"} {
		_, err := Stored(func(string) string { return file })
		expectRefusal(t, err, "credential file", file)
	}
}

func TestPullChoosesThePlatform(t *testing.T) {
	server := registrytest.Start(t, authority)
	own, foreign := registrytest.Image(t, 10), registrytest.Image(t, 10)
	registrytest.Run(t, "umoci", "config", "--image", foreign+":latest", "--architecture", "s390x")
	both := registrytest.Join(t, map[string]string{"linux/" + runtime.GOARCH: own, "linux/s390x": foreign})
	server.Push(t, both, "both:1", "--all")
	server.Push(t, foreign, "foreign:1", "--override-arch", "s390x")
	only := registrytest.Join(t, map[string]string{"linux/s390x": foreign, "linux/ppc64le": foreign})
	server.Push(t, only, "only:1", "--all")

	l := empty(t)
	desc, err := pull(t, server.Address+"/both:1", l, options())
	must(t, err, l.Tag(t.Context(), "both", desc))
	if want := registrytest.Manifest(t, own); desc.Digest.String() != want {
		t.Errorf("chose %s, want %s", desc.Digest, want)
	}
	_, err = pull(t, server.Address+"/foreign:1", l, options())
	expectRefusal(t, err, "the image is for linux/s390x; this machine needs linux/"+runtime.GOARCH)
	_, err = pull(t, server.Address+"/only:1", l, options())
	expectRefusal(t, err, "there is no image for linux/"+runtime.GOARCH, "linux/s390x", "linux/ppc64le")
}

func testPullsOfOneImageShareTheWork(t *testing.T, s *site) {
	l := empty(t)
	s.Fail(nil)
	var group sync.WaitGroup
	for range 6 {
		group.Go(func() {
			other, err := layout.Open(l.Dir()) // as another process would
			if err == nil {
				_, err = Pull(t.Context(), mustParse(t, s.ref), other, options())
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	s.expectWhole(t, l, s.desc)
	for _, blob := range append(s.manifest.Layers, s.manifest.Config) {
		if got := len(s.Seen(blob.Digest.String())); got != 1 {
			t.Errorf("%s was asked for %d times", blob.Digest, got)
		}
	}
	left, err := os.ReadDir(filepath.Join(l.Dir(), "ingest"))
	if err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

func testProgress(t *testing.T, s *site) {
	l := empty(t)
	var mutex sync.Mutex
	done := make(map[digest.Digest]int64)
	o := options()
	o.Progress = func(blob ocispec.Descriptor, bytes int64) {
		mutex.Lock()
		defer mutex.Unlock()
		if bytes < done[blob.Digest] || bytes > blob.Size {
			t.Errorf("%s: from %d to %d of %d", blob.Digest, done[blob.Digest], bytes, blob.Size)
		}
		done[blob.Digest] = bytes
	}
	for range 2 { // downloaded, and there
		_, err := pull(t, s.ref, l, o)
		must(t, err)
		for _, blob := range append(s.manifest.Layers, s.manifest.Config) {
			if done[blob.Digest] != blob.Size {
				t.Errorf("%s: %d of %d", blob.Digest, done[blob.Digest], blob.Size)
			}
		}
		clear(done)
	}
}

func TestReferences(t *testing.T) {
	sum := "sha256:" + strings.Repeat("0", 64)
	for given, want := range map[string]string{
		"python":                                 "",
		"python:3.12":                            "",
		"user/image":                             "",
		"registry.example/image":                 "registry.example/image:latest",
		"registry.example:5000/a/b/c:1":          "registry.example:5000/a/b/c:1",
		"localhost/image@" + sum:                 "localhost/image@" + sum,
		"registry.example/image:1@" + sum:        "registry.example/image:1@" + sum,
		"[::1]:5000/image:1":                     "[::1]:5000/image:1",
		"registry.example/image@sha512:" + "0":   "",
		"registry.example/image@sha256:00":       "",
		"":                                       "",
		"Python":                                 "",
		"https://registry.example/image":         "",
		"registry.example/image:":                "",
		"registry.example/../image":              "",
		"registry.example/image:" + longTag:      "",
		"registry.example/a b":                   "",
		"user:password@registry.example/image:1": "",
		strings.Repeat("a/", 300) + "b":          "",
		"-x":                                     "",
	} {
		ref, err := Parse(given)
		switch {
		case want != "" && (err != nil || ref.String() != want):
			t.Errorf("%q: %s, %v, want %s", given, ref, err, want)
		case want == "":
			expectRefusal(t, err, "reference of an image")
		}
	}
	if got := mustParse(t, "registry.example/image:1@"+sum); got.digest.String() != sum || got.remote().Reference != sum {
		t.Errorf("%s asks for %q", got, got.remote().Reference)
	}
}

var longTag = strings.Repeat("x", 129)
