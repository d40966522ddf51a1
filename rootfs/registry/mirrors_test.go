package registry

import (
	"bytes"
	"context"
	"encoding/base64"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/opencontainers/go-digest"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/scidex-ai/scidex-oci/rootfs/layout"
	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// mirrored is a site with a mirror, which is a proxy of its own before the same registry.
type mirrored struct {
	*site
	mirror *registrytest.Proxy
	log    *bytes.Buffer
	mutex  sync.Mutex
	asked  []string // the hosts for which credentials were requested
}

func (m *mirrored) options(mirrors ...string) Options {
	m.log.Reset()
	m.asked = nil
	o := options()
	o.Log = slog.New(slog.NewTextHandler(m.log, &slog.HandlerOptions{Level: slog.LevelInfo}))
	o.Sites = map[string]Site{m.Address: {Mirrors: mirrors}}
	o.Credentials = func(ctx context.Context, host, repository string) (auth.Credential, error) {
		m.mutex.Lock()
		defer m.mutex.Unlock()
		m.asked = append(m.asked, host+"/"+repository)
		return password(ctx, host, repository)
	}
	return o
}

// expect pulls the image with these mirrors, and wants a line of the log.
func (m *mirrored) expect(t *testing.T, o Options, line ...string) *layout.Layout {
	t.Helper()
	l := empty(t)
	desc, err := pull(t, m.ref, l, o)
	must(t, err)
	m.expectWhole(t, l, desc)
	for _, word := range line {
		if !strings.Contains(m.log.String(), word) {
			t.Errorf("the log has no %q: %s", word, m.log)
		}
	}
	return l
}

func TestMirrors(t *testing.T) {
	m := &mirrored{site: newSite(t), log: &bytes.Buffer{}}
	m.server.Push(t, registrytest.Image(t, 10), "other/image:1")
	m.mirror = registrytest.NewProxy(t, m.server)
	for name, test := range map[string]func(*testing.T, *mirrored){
		"IsAsked":                testMirrorIsAsked,
		"IsDown":                 testMirrorIsDown,
		"HasNoImage":             testMirrorHasNoImage,
		"IsBusy":                 testMirrorIsBusy,
		"HasWrongBytes":          testMirrorHasWrongBytes,
		"HasAnotherManifest":     testMirrorHasAnotherManifest,
		"BreaksOff":              testMirrorBreaksOff,
		"Hangs":                  testMirrorHangs,
		"GetsNoCredentials":      testMirrorGetsNoCredentials,
		"LeadsToTheRegistry":     testMirrorLeadsToTheRegistry,
		"StoppedAtTheMirror":     testStoppedAtTheMirror,
		"AllFail":                testAllFail,
		"DecidesAboutTagsInTurn": testMirrorsDecideInTurn,
	} {
		m.Fail(nil)
		m.mirror.Fail(nil)
		t.Run(name, func(t *testing.T) { test(t, m) })
	}
}

func testMirrorIsAsked(t *testing.T, m *mirrored) {
	m.expect(t, m.options(m.mirror.Address), "an image was pulled", "from="+m.mirror.Address+"/image")
	if asked := len(m.Seen("")); asked > 0 {
		t.Errorf("the registry was asked %d times", asked)
	}
	if want := []string{m.mirror.Address + "/image"}; !slices.Equal(m.asked, want) {
		t.Errorf("credentials for %q", m.asked)
	}
}

// down is an address that refuses connections.
func down(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err, l.Close())
	return l.Addr().String()
}

func testMirrorIsDown(t *testing.T, m *mirrored) {
	address := down(t)
	m.expect(t, m.options(address), "level=WARN", "a mirror is passed over", "mirror="+address+"/image", "refused")
	m.Fail(nil)
	m.expect(t, m.options(address, m.mirror.Address), "mirror="+address)
	if asked := len(m.Seen("")); asked > 0 {
		t.Errorf("the registry was asked %d times", asked)
	}
}

func testMirrorHasNoImage(t *testing.T, m *mirrored) {
	m.expect(t, m.options(m.mirror.Address+"/none"), "level=INFO msg=\"a mirror is passed over\"", "no such image")
	if len(m.mirror.Seen("/v2/none/image/manifests/1")) == 0 {
		t.Error("the mirror was not asked for the image below its path")
	}
}

func testMirrorIsBusy(t *testing.T, m *mirrored) {
	m.mirror.Fail(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(503) })
	m.expect(t, m.options(m.mirror.Address), "level=WARN", "a mirror is passed over", "503")
	if asked := len(m.mirror.Seen("")); asked != 3 {
		t.Errorf("the mirror was asked %d times", asked)
	}
}

func testMirrorHasWrongBytes(t *testing.T, m *mirrored) {
	m.mirror.Fail(on(m.big().Digest.String(), always, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := registrytest.Record(next, r)
		body := answer.Body.Bytes()
		body[len(body)/2] ^= 1
		registrytest.Send(w, answer, body)
	}))
	m.expect(t, m.options(m.mirror.Address), "level=WARN", "a mirror is passed over", "not what the descriptor promises")
	if asked := len(m.Seen(m.big().Digest.String())); asked == 0 {
		t.Error("the registry was not asked for the layer")
	}
	if asked := len(m.Seen(m.manifest.Config.Digest.String())); asked != 0 {
		t.Error("what the mirror gave was asked for again")
	}
}

func testMirrorHasAnotherManifest(t *testing.T, m *mirrored) {
	m.mirror.Fail(on("/manifests/", always, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		answer := registrytest.Record(next, r)
		registrytest.Send(w, answer, append(answer.Body.Bytes(), ' '))
	}))
	tag := m.ref
	defer func() { m.ref = tag }()
	m.ref = m.Address + "/image@" + m.desc.Digest.String()
	m.expect(t, m.options(m.mirror.Address), "level=WARN", "a mirror is passed over", "mismatch")
}

// A blob that one mirror has sent in part is continued from the next source.
func testMirrorBreaksOff(t *testing.T, m *mirrored) {
	m.mirror.Fail(on(m.big().Digest.String(), always, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		r.Header.Del("Range")
		answer := registrytest.Record(next, r)
		answer.Header().Del("Accept-Ranges")
		w.Header().Set("Content-Length", answer.Header().Get("Content-Length"))
		registrytest.Send(registrytest.Cut(w, 1_000_000), answer, answer.Body.Bytes())
	}))
	m.expect(t, m.options(m.mirror.Address), "level=WARN", "a mirror is passed over")
	if asked := m.ranges(m.big()); len(asked) != 1 || asked[0] == "bytes=0-" {
		t.Errorf("asked the registry for %q", asked)
	}
}

// testMirrorHangs: a mirror that stops in the middle of a blob, or does not answer, gets one request for it, and the
// registry sends the rest.
func testMirrorHangs(t *testing.T, m *mirrored) {
	layer, manifest := m.big().Digest.String(), "/manifests/1"
	for name, tc := range map[string]struct {
		of   string
		hang func(http.ResponseWriter, *http.Request, http.Handler)
		from string // the requests to the registry
	}{
		"in a blob":     {layer, hangAfter(1_000_000), "bytes=1000000-"},
		"before a blob": {layer, hangAfter(-1), ""},
		"at once":       {manifest, hangAfter(-1), ""},
	} {
		m.Fail(nil)
		m.mirror.Fail(on(tc.of, always, tc.hang))
		o := m.options(m.mirror.Address)
		o.stall = 2 * time.Second
		m.expect(t, o, "level=WARN", "a mirror is passed over")
		asked := 0
		for _, r := range m.mirror.Seen(tc.of) {
			if r.Header.Get("Authorization") != "" {
				asked++
			}
		}
		if asked != 1 {
			t.Errorf("%s: the mirror was asked %d times: %s", name, asked, m.log)
		}
		if asked := m.ranges(m.big()); tc.from != "" && (len(asked) != 1 || !strings.HasPrefix(asked[0], tc.from)) {
			t.Errorf("%s: the registry was asked for %q", name, asked)
		}
	}
}

// hangAfter sends so many bytes of an answer, or not even its header, and nothing until the client hangs up.
func hangAfter(n int) func(http.ResponseWriter, *http.Request, http.Handler) {
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if n >= 0 {
			answer := registrytest.Record(next, r)
			w.Header().Set("Content-Length", answer.Header().Get("Content-Length"))
			_, _ = w.Write(answer.Body.Bytes()[:n])
			w.(http.Flusher).Flush()
		}
		<-r.Context().Done()
	}
}

// sent are the accounts that a proxy received.
func sent(p *registrytest.Proxy) (accounts []string) {
	for _, r := range p.Seen("") {
		if user, _, ok := r.BasicAuth(); ok {
			accounts = append(accounts, user)
		} else if other := r.Header.Get("Authorization"); other != "" {
			accounts = append(accounts, other)
		}
	}
	slices.Sort(accounts)
	return slices.Compact(accounts)
}

func testMirrorGetsNoCredentials(t *testing.T, m *mirrored) {
	realm := base64.StdEncoding.EncodeToString([]byte("x"))
	for name, challenge := range map[string]string{
		"basic": "", "its own": `Basic realm="` + m.Address + `"`, "token": `Bearer realm="https://` + m.mirror.Address + "/" + realm + `",service="` + m.Address + `"`,
	} {
		m.Fail(nil)
		m.mirror.Fail(func(w http.ResponseWriter, r *http.Request, next http.Handler) {
			if challenge == "" {
				next.ServeHTTP(w, r)
				return
			}
			w.Header().Set("Www-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		})
		o := m.options(m.mirror.Address)
		o.Credentials = func(ctx context.Context, host, repository string) (auth.Credential, error) {
			if host != m.Address {
				return auth.EmptyCredential, nil
			}
			return password(ctx, host, repository)
		}
		m.expect(t, o, "a mirror is passed over")
		if len(m.mirror.Seen("")) == 0 || len(sent(m.mirror)) > 0 {
			t.Errorf("%s: the mirror saw %d requests and %q", name, len(m.mirror.Seen("")), sent(m.mirror))
		}
		if got := sent(m.Proxy); !slices.Equal(got, []string{registrytest.User}) {
			t.Errorf("%s: the registry was told %q", name, got)
		}
	}
}

// If a mirror redirects to the registry, the registry does not get the mirror's account, and no other host gets the registry's.
func testMirrorLeadsToTheRegistry(t *testing.T, m *mirrored) {
	m.mirror.Fail(func(w http.ResponseWriter, r *http.Request, _ http.Handler) {
		if r.Header.Get("Authorization") == "" {
			w.Header().Set("Www-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		http.Redirect(w, r, "https://"+m.Address+r.URL.Path, http.StatusTemporaryRedirect)
	})
	o := m.options(m.mirror.Address)
	o.Credentials = func(ctx context.Context, host, repository string) (auth.Credential, error) {
		if host == m.mirror.Address {
			return auth.Credential{Username: "mirror", Password: "x"}, nil
		}
		return password(ctx, host, repository)
	}
	m.expect(t, o, "a mirror is passed over")
	if got := sent(m.Proxy); !slices.Equal(got, []string{registrytest.User}) {
		t.Errorf("the registry was told %q", got)
	}
	if got := sent(m.mirror); !slices.Equal(got, []string{"mirror"}) {
		t.Errorf("the mirror was told %q", got)
	}
}

func testStoppedAtTheMirror(t *testing.T, m *mirrored) {
	ctx, cancel := context.WithCancel(t.Context())
	m.mirror.Fail(on("/blobs/", always, func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		cancel()
		<-r.Context().Done()
	}))
	if _, err := Pull(ctx, mustParse(t, m.ref), empty(t), m.options(m.mirror.Address)); err == nil {
		t.Error("a canceled pull did succeed")
	}
	if asked := len(m.Seen("")); asked > 0 || strings.Contains(m.log.String(), "passed over") {
		t.Errorf("the registry was asked %d times: %s", asked, m.log)
	}
}

func testAllFail(t *testing.T, m *mirrored) {
	gone := func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusNotFound) }
	m.Fail(gone)
	m.mirror.Fail(gone)
	_, err := pull(t, m.ref, empty(t), m.options(m.mirror.Address))
	expectRefusal(t, err, "pull "+m.ref, m.Address+" has no such image")
}

// testMirrorsDecideInTurn: the image is whole from one source, also if the sources have different images under a tag.
func testMirrorsDecideInTurn(t *testing.T, m *mirrored) {
	m.mirror.Fail(on("/blobs/", always, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) { w.WriteHeader(http.StatusNotFound) }))
	m.expect(t, m.options(m.mirror.Address+"/other"), "a mirror is passed over")
}

// TestCredentialOfAnotherHost: what oras may request, too.
func TestCredentialOfAnotherHost(t *testing.T) {
	p := &puller{Options: options(), from: source{Reference: mustParse(t, "docker.io/python")}}
	for host, want := range map[string]bool{"registry-1.docker.io": true, "docker.io": true, "mirror.example.org": false, "docker.io:443": false, "": false} {
		if got, err := p.credential(t.Context(), host); err != nil || (got != auth.EmptyCredential) != want {
			t.Errorf("%s: %v, %v", host, got, err)
		}
	}
}

func TestSources(t *testing.T) {
	sum := "@" + digest.FromString("x").String()
	o := Options{PlainHTTP: true, Sites: map[string]Site{
		"docker.io":           {Mirrors: []string{"mirror.example.org/docker", "localhost:5000", "docker.io/other"}},
		"localhost:5000":      {PlainHTTP: true},
		"registry.example:80": {PlainHTTP: true},
	}}
	for given, want := range map[string][]string{
		"docker.io/python:3": {
			"mirror.example.org/docker/library/python:3", "localhost:5000/library/python:3 plain",
			"docker.io/other/library/python:3", "docker.io/library/python:3 plain",
		},
		"index.docker.io/a/b" + sum:     {"mirror.example.org/docker/a/b" + sum, "localhost:5000/a/b" + sum + " plain", "docker.io/other/a/b" + sum, "index.docker.io/a/b" + sum + " plain"},
		"localhost:5000/a:1" + sum:      {"localhost:5000/a:1" + sum + " plain"},
		"mirror.example.org/docker/a:1": {"mirror.example.org/docker/a:1 plain"},
	} {
		all, err := o.sources(mustParse(t, given))
		must(t, err)
		var got []string
		for i, one := range all {
			text := one.String()
			if one.plain {
				text += " plain"
			}
			if one.mirror != (i < len(all)-1) {
				t.Errorf("%s: mirror %v", text, one.mirror)
			}
			got = append(got, text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q", given, got)
		}
	}
	o.PlainHTTP = false
	if all, err := o.sources(mustParse(t, "registry.example:80/a")); err != nil || !all[0].plain {
		t.Errorf("%+v, %v", all, err)
	}
	for _, bad := range []string{"https://mirror.example.org", "mirror", "", "mirror.example.org/A", "mirror.example.org/a:1", "mirror.example.org/../x", "mirror.example.org/", "user@mirror.example.org"} {
		o.Sites = map[string]Site{"registry.example": {Mirrors: []string{bad}}}
		_, err := o.sources(mustParse(t, "registry.example/a"))
		expectRefusal(t, err, "mirror \""+bad+"\" of registry.example")
	}
}
