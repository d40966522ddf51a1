package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// TestThroughProxy has the tests that need a registry, an image in it and a proxy, which take seconds to make.
func TestThroughProxy(t *testing.T) {
	s := newSite(t)
	for name, test := range map[string]func(*testing.T, *site){
		"PullsOfOneImageShareTheWork":       testPullsOfOneImageShareTheWork,
		"Progress":                          testProgress,
		"BrokenConnectionGoesOn":            testBrokenConnectionGoesOn,
		"ConnectionThatAlwaysBreaksGivesUp": testConnectionThatAlwaysBreaksGivesUp,
		"LaterPullGoesOn":                   testLaterPullGoesOn,
		"WrongPartialIsFetchedAnew":         testWrongPartialIsFetchedAnew,
		"ServerWithoutRanges":               testServerWithoutRanges,
		"BusyServerIsAskedAgain":            testBusyServerIsAskedAgain,
		"StalledConnectionIsGivenUp":        testStalledConnectionIsGivenUp,
		"StalledUploadIsGivenUp":            testStalledUploadIsGivenUp,
		"WrongContents":                     testWrongContents,
		"DamagedBlobIsFetchedAgain":         testDamagedBlobIsFetchedAgain,
		"Redirects":                         testRedirects,
		"AnotherManifest":                   testAnotherManifest,
		"HostileManifests":                  testHostileManifests,
		"IndexesInIndexesEnd":               testIndexesInIndexesEnd,
		"ErrorsOfARegistryArePrintable":     testErrorsOfARegistryArePrintable,
	} {
		s.Fail(nil)
		t.Run(name, func(t *testing.T) { test(t, s) })
	}
}

func cutAt(n int) registrytest.Fault {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		next.ServeHTTP(registrytest.Cut(w, n), r)
	}
}

// ranges are the Range headers of the requests for a blob.
func (s *site) ranges(blob ocispec.Descriptor) (asked []string) {
	for _, r := range s.Seen(blob.Digest.String()) {
		if from := r.Header.Get("Range"); from != "" {
			asked = append(asked, from)
		}
	}
	return asked
}

func testBrokenConnectionGoesOn(t *testing.T, s *site) {
	for _, n := range []int{0, 1, 1_000_000, layerSize - 1} {
		l := empty(t)
		s.Fail(on(s.big().Digest.String(), 1, cutAt(n)))
		desc, err := pull(t, s.ref, l, options())
		must(t, err)
		s.expectWhole(t, l, desc)
		asked := s.ranges(s.big())
		if n > 1000 && (len(asked) != 1 || asked[0] == "bytes=0-") {
			t.Errorf("cut at %d: asked for %q", n, asked)
		}
	}
}

func testConnectionThatAlwaysBreaksGivesUp(t *testing.T, s *site) {
	l := empty(t)
	s.Fail(on(s.big().Digest.String(), always, cutAt(10)))
	_, err := pull(t, s.ref, l, options())
	expectRefusal(t, err, "EOF")
	expectNothing(t, l, s.big(), s.desc)
}

func testLaterPullGoesOn(t *testing.T, s *site) {
	l := empty(t)
	ctx, cancel := context.WithCancel(t.Context())
	o := options()
	o.Progress = func(blob ocispec.Descriptor, done int64) {
		if blob.Digest == s.big().Digest && done > layerSize/2 {
			cancel()
		}
	}
	if _, err := Pull(ctx, mustParse(t, s.ref), l, o); err == nil {
		t.Fatal("a canceled pull did succeed")
	}
	expectNothing(t, l, s.big(), s.desc)
	info, err := os.Stat(partial(l, s.big()))
	must(t, err)
	left := info.Size()
	if left <= layerSize/2 {
		t.Fatalf("%d bytes are left of %d", left, layerSize)
	}
	s.Fail(nil)
	desc, err := pull(t, s.ref, l, options())
	must(t, err)
	s.expectWhole(t, l, desc)
	if asked := s.ranges(s.big()); len(asked) != 1 || asked[0] != fmt.Sprintf("bytes=%d-%d", left, s.big().Size-1) {
		t.Errorf("%d bytes were there, asked for %q", left, asked)
	}
}

// A partial file may hold anything after a power cut.
func testWrongPartialIsFetchedAnew(t *testing.T, s *site) {
	for _, size := range []int64{1000, s.big().Size, s.big().Size + 1} {
		l := empty(t)
		name := partial(l, s.big())
		must(t, os.Mkdir(filepath.Dir(name), 0o700), os.WriteFile(name, make([]byte, size), 0o600))
		desc, err := pull(t, s.ref, l, options())
		must(t, err)
		s.expectWhole(t, l, desc)
	}
}

func testServerWithoutRanges(t *testing.T, s *site) {
	var cut atomic.Bool
	for _, honest := range []bool{true, false} { // one that does not claim to know them, and one that does
		l := empty(t)
		cut.Store(true)
		s.Fail(on(s.big().Digest.String(), always, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			r.Header.Del("Range")
			answer := registrytest.Record(next, r)
			if honest {
				answer.Header().Del("Accept-Ranges")
			}
			if cut.Swap(false) {
				w = registrytest.Cut(w, 2_000_000)
			}
			registrytest.Send(w, answer, answer.Body.Bytes())
		}))
		desc, err := pull(t, s.ref, l, options())
		must(t, err)
		s.expectWhole(t, l, desc)
	}
}

func testBusyServerIsAskedAgain(t *testing.T, s *site) {
	past := time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat)
	for code, after := range map[int]string{408: "", 429: "0", 500: "", 502: past, 503: "0", 504: ""} {
		for _, path := range []string{"/manifests/", "/blobs/"} {
			l := empty(t)
			s.Fail(on(path, 2, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
				w.Header().Set("Retry-After", after)
				w.WriteHeader(code)
			}))
			desc, err := pull(t, s.ref, l, options())
			must(t, err)
			s.expectWhole(t, l, desc)
		}
	}
	for after, words := range map[string][]string{"0": {"429", "come back later"}, "7200": {"429"}} {
		s.Fail(on("/manifests/", always, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(429)
		}))
		_, err := pull(t, s.ref, empty(t), options())
		expectRefusal(t, err, words...)
	}
	if asked := len(s.Seen("/manifests/")); asked > maxTries+2 {
		t.Errorf("asked %d times", asked)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	a := retryPolicy{first: time.Second, log: quiet()}
	for value, want := range map[string]time.Duration{"17": 17 * time.Second, "120": 2 * time.Minute, "121": -1, "99999999999999999999": 0, "x": 0} {
		resp := &http.Response{StatusCode: 503, Header: http.Header{"Retry-After": {value}}}
		got, err := a.Retry(0, resp, nil)
		must(t, err)
		if want != 0 && got != want || want == 0 && (got < time.Second || got > 2*time.Second) {
			t.Errorf("%s: %v", value, got)
		}
	}
	for _, code := range []int{200, 206, 307, 401, 403, 404, 416} {
		if got, _ := a.Retry(0, &http.Response{StatusCode: code}, nil); got >= 0 {
			t.Errorf("%d is tried again", code)
		}
	}
	for attempt := range 20 {
		if got, _ := a.Retry(attempt, &http.Response{StatusCode: 500}, nil); got > 2*maxWait || (got >= 0) != (attempt < maxTries) {
			t.Errorf("attempt %d: %v", attempt, got)
		}
	}
}

func testStalledConnectionIsGivenUp(t *testing.T, s *site) {
	l := empty(t)
	s.Fail(on(s.big().Digest.String(), 1, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := registrytest.Record(next, r)
		w.Header().Set("Content-Length", answer.Header().Get("Content-Length"))
		w.Header().Set("Accept-Ranges", "bytes")
		_, _ = w.Write(answer.Body.Bytes()[:1000])
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the client's end of it
	}))
	o := options()
	o.stall = 2 * time.Second
	desc, err := pull(t, s.ref, l, o)
	must(t, err)
	s.expectWhole(t, l, desc)
}

// testStalledUploadIsGivenUp: if a registry takes no bytes of a file, the file is sent again over another connection.
func testStalledUploadIsGivenUp(t *testing.T, s *site) {
	var opened atomic.Int64
	file := textFile("large", strings.Repeat("x", 32<<20), &opened) // more than sockets hold
	end := make(chan struct{})
	defer close(end)
	var held atomic.Int64
	stalled := on("/uploads/", 1, func(http.ResponseWriter, *http.Request, http.Handler) { held.Add(1); <-end })
	s.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method == http.MethodPut && r.ContentLength > 1<<20 {
			stalled(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	})
	o := options()
	o.stall = 2 * time.Second
	_, err := Push(t.Context(), mustParse(t, s.Address+"/outputs/large:1"), o, Artifact{Type: "application/vnd.example", Files: []File{file}})
	must(t, err)
	if held.Load() != 1 || opened.Load() < 2 { // more often if this machine itself is suspended or overloaded
		t.Errorf("%d uploads were held up, and the file was read %d times", held.Load(), opened.Load())
	}
}

// TestWrongContents changes a layer on its way.
func testWrongContents(t *testing.T, s *site) {
	for name, change := range map[string]func([]byte) []byte{
		"swapped":   func(b []byte) []byte { b[1000] ^= 1; return b },
		"truncated": func(b []byte) []byte { return b[:len(b)-1] },
		"longer":    func(b []byte) []byte { return append(b, 'x') },
		"empty":     func([]byte) []byte { return nil },
	} {
		for _, chunked := range []bool{false, true} {
			l := empty(t)
			s.Fail(on(s.big().Digest.String(), always, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
				r.Header.Del("Range")
				answer := registrytest.Record(next, r)
				answer.Header().Del("Accept-Ranges")
				body := change(answer.Body.Bytes())
				if !chunked {
					w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				}
				registrytest.Send(w, answer, body)
			}))
			_, err := pull(t, s.ref, l, options())
			if err == nil {
				t.Errorf("%s was taken", name)
			}
			expectNothing(t, l, s.big(), s.desc)
			s.Fail(nil)
			desc, err := pull(t, s.ref, l, options())
			must(t, err)
			s.expectWhole(t, l, desc)
		}
	}
}

func testDamagedBlobIsFetchedAgain(t *testing.T, s *site) {
	l := empty(t)
	_, err := pull(t, s.ref, l, options())
	must(t, err)
	path := l.Dir() + "/blobs/sha256/" + s.big().Digest.Encoded()
	must(t, os.Remove(path), os.WriteFile(path, make([]byte, s.big().Size), 0o444))
	desc, err := pull(t, s.ref, l, options())
	must(t, err)
	s.expectWhole(t, l, desc)
}

// TestRedirects leads blobs to another server, as registries do that keep them in an object store.
func testRedirects(t *testing.T, s *site) {
	store := func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Errorf("the other server was told the password: %s", r.URL)
		}
		l := empty(t)
		direct := mustParse(t, s.server.Address+"/image:1")
		p := &puller{Options: options(), from: source{Reference: direct}, into: l}
		p.applyDefaults()
		defer p.connect()()
		for _, d := range append(slices.Clip(s.manifest.Layers), s.manifest.Config) {
			if strings.HasSuffix(r.URL.Path, d.Digest.Encoded()) {
				body, err := p.repo.Blobs().Fetch(r.Context(), d)
				if err != nil {
					t.Error(err)
					return
				}
				defer body.Close()
				var data bytes.Buffer
				_, _ = data.ReadFrom(body)
				http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data.Bytes()))
			}
		}
	}
	secure := s.server.TLSServer(t, http.HandlerFunc(store))
	plain := httptest.NewServer(http.HandlerFunc(store))
	defer plain.Close()
	lead := func(to string) registrytest.Fault {
		return on("/blobs/", always, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
			http.Redirect(w, r, to+"/"+strings.TrimPrefix(r.URL.Path[strings.LastIndex(r.URL.Path, ":"):], ":"), http.StatusTemporaryRedirect)
		})
	}
	l := empty(t)
	s.Fail(lead(secure))
	desc, err := pull(t, s.ref, l, options())
	must(t, err)
	s.expectWhole(t, l, desc)

	l = empty(t)
	s.Fail(lead(plain.URL))
	_, err = pull(t, s.ref, l, options())
	expectRefusal(t, err, "away from TLS")

	s.Fail(on("/blobs/", always, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		http.Redirect(w, r, r.URL.Path, http.StatusTemporaryRedirect)
	}))
	_, err = pull(t, s.ref, l, options())
	expectRefusal(t, err, "10 redirects")
}

// TestHostileManifests has the registry return manifests of images that must not be downloaded.
func testHostileManifests(t *testing.T, s *site) {
	good, err := json.Marshal(s.manifest)
	must(t, err)
	change := func(do func(m *ocispec.Manifest)) string {
		var m ocispec.Manifest
		must(t, json.Unmarshal(good, &m))
		do(&m)
		data, err := json.Marshal(m)
		must(t, err)
		return string(data)
	}
	manifest, index := ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex
	for _, c := range []struct{ name, mediaType, body, want string }{
		{"urls", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].URLs = []string{"http://127.0.0.1:1/x"} }), "another server"},
		{"foreign", manifest, change(func(m *ocispec.Manifest) {
			m.Layers[0].MediaType = ocispec.MediaTypeImageLayerNonDistributableGzip //nolint:staticcheck // deprecated, and refused
		}), "another server"},
		{"docker foreign", manifest, change(func(m *ocispec.Manifest) {
			m.Layers[0].MediaType = "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip"
		}), "another server"},
		{"unknown layer", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].MediaType += "+encrypted" }), "no layer"},
		{"artifact", manifest, change(func(m *ocispec.Manifest) { m.Config.MediaType = "application/vnd.oci.empty.v1+json" }), "no image to be run"},
		{"huge layer", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Size = 40 << 30 }), "allowed"},
		{"huge layers together", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Size, m.Layers[1].Size = 20<<30, 20<<30 }), "its layers have more"},
		{"overflow", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Size, m.Layers[1].Size = 1<<63-1, 1<<63-1 }), "not between 0"},
		{"negative", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Size = -1 }), "not between 0"},
		{"huge config", manifest, change(func(m *ocispec.Manifest) { m.Config.Size = 5 << 20 }), "its config has"},
		{"sha512", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Digest = digest.Digest("sha512:" + strings.Repeat("0", 128)) }), "only sha256"},
		{"traversal", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Digest = "sha256:../../../etc/passwd" }), "digest"},
		{"wrong size", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Size-- }), "mismatch Content-Length"},
		{"missing layer", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].Digest = digest.FromString("none") }), "no such image"},
		{"fewer layers", manifest, change(func(m *ocispec.Manifest) { m.Layers = m.Layers[:1] }), "it describes"},
		{"many layers", manifest, change(func(m *ocispec.Manifest) { m.Layers = make([]ocispec.Descriptor, 1025) }), "more than 1024"},
		{"both", manifest, strings.Replace(string(good), "{", `{"manifests":[],`, 1), "wanted"},
		{"called otherwise", index, string(good), "announced"},
		{"schema 1", "application/vnd.docker.distribution.manifest.v1+prettyjws", `{"schemaVersion":1,"fsLayers":[]}`, "schema 1"},
		{"schema 1 in disguise", manifest, `{"schemaVersion":1,"fsLayers":[]}`, "schema 1"},
		{"no JSON", manifest, "<html>", "invalid character"},
		{"too long", manifest, string(good) + strings.Repeat(" ", layout.MaxManifest), "at most"},
		{"text", "text/plain", string(good), "no image"},
		{"escapes", manifest, change(func(m *ocispec.Manifest) { m.Layers[0].MediaType = "\x1b[31m\n" }), "no layer"},
	} {
		l := empty(t)
		s.Fail(on("/manifests/", always, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", c.mediaType)
			w.Header().Set("Docker-Content-Digest", digest.FromString(c.body).String())
			w.Header().Set("Content-Length", fmt.Sprint(len(c.body)))
			_, _ = w.Write([]byte(c.body))
		}))
		_, err := pull(t, s.ref, l, options())
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Errorf("%s: got %v, want %q in it", c.name, err, c.want)
		}
		expectNothing(t, l, s.big(), s.desc)
	}
}

// testAnotherManifest has the registry give a good manifest instead of the requested one.
func testAnotherManifest(t *testing.T, s *site) {
	other := s.manifest
	other.Annotations = map[string]string{"other": "yes"}
	body, err := json.Marshal(other)
	must(t, err)
	for _, claimed := range []string{"", s.desc.Digest.String(), digest.FromBytes(body).String()} {
		s.Fail(on("/manifests/", always, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.Header().Set("Content-Type", s.desc.MediaType)
			if claimed != "" {
				w.Header().Set("Docker-Content-Digest", claimed)
			}
			_, _ = w.Write(body)
		}))
		_, err = pull(t, s.Address+"/image@"+s.desc.Digest.String(), empty(t), options())
		expectRefusal(t, err, "mismatch")
	}
}

func testIndexesInIndexesEnd(t *testing.T, s *site) {
	body := []byte("{}")
	nested := make(map[string][]byte)
	for range 5 {
		desc := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageIndex, Digest: digest.FromBytes(body), Size: int64(len(body))}
		index := ocispec.Index{MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{desc}}
		index.SchemaVersion = 2
		nested[desc.Digest.String()] = body
		var err error
		body, err = json.Marshal(index)
		must(t, err)
	}
	s.Fail(on("/manifests/", always, func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		answer, inner := nested[r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]]
		if !inner {
			answer = body
		}
		w.Header().Set("Content-Type", ocispec.MediaTypeImageIndex)
		_, _ = w.Write(answer)
	}))
	_, err := pull(t, s.ref, empty(t), options())
	expectRefusal(t, err, "more than 2 indexes")
}

func testErrorsOfARegistryArePrintable(t *testing.T, s *site) {
	s.Fail(on("/manifests/", always, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"errors":[{"code":"X","message":"\u001b[31m\nred` + strings.Repeat("x", 5000) + `"}]}`))
	}))
	_, err := pull(t, s.ref, empty(t), options())
	if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 3000 {
		t.Errorf("%q", err)
	}
}
