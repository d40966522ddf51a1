package e2e

import (
	"crypto/tls"
	"crypto/x509"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// secure is a harness whose bucket is reached over TLS.
type secure struct {
	*harness
	*bucket
	own   *registrytest.Authority // that it trusts
	front *httptest.Server
	plain string // the endpoint without TLS
	shown atomic.Pointer[tls.Config]
}

func inS3OverTLS(t *testing.T) *secure {
	t.Helper()
	s := &secure{harness: newHarness(t), bucket: newBucket(t), own: registrytest.NewAuthority(t)}
	s.front = httptest.NewUnstartedServer(s.pass)
	s.front.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.shown.Load(), nil }}
	s.front.StartTLS()
	t.Cleanup(s.front.Close)
	s.show(t, s.own)
	_, s.plain, _ = strings.Cut(s.url, "endpoint=")
	s.url = s.store() + "?endpoint=" + s.front.URL
	s.configure(s.harness)
	s.setenv("AWS_CA_BUNDLE", s.own.File)
	return s
}

// host is the server as its clients name it.
func (s *secure) host() string { return strings.TrimPrefix(s.front.URL, "https://") }

// show gives the server another certificate, also for connected clients.
func (s *secure) show(t *testing.T, by *registrytest.Authority, change ...func(*x509.Certificate)) {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(by.Certificate(t, change...))
	if err != nil {
		t.Fatal(err)
	}
	s.shown.Store(&tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}})
	s.front.CloseClientConnections()
}

// TestS3OverTLS: the authority of AWS_CA_BUNDLE is trusted and no other one, nor a certificate that is expired or for
// another name. A result waits, and is committed once the certificate is right.
func TestS3OverTLS(t *testing.T) {
	s := inS3OverTLS(t)
	id, end := s.newID(), s.flag()
	l := s.launch(id, "--input", end.input(), "--", "sh", "-c", "echo ready; "+awaited+"; echo x >x")
	l.await("ready")
	for name, tc := range map[string]struct {
		by     *registrytest.Authority
		change func(*x509.Certificate)
		want   string
	}{
		"authority": {registrytest.NewAuthority(t), func(*x509.Certificate) {}, "no known authority has signed the certificate \"CN=localhost\" of " + s.host()},
		"expired":   {s.own, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, "the certificate \"CN=localhost\" of " + s.host() + " is valid only from"},
		"name":      {s.own, func(c *x509.Certificate) { c.IPAddresses = nil }, "the certificate of " + s.host() + " is for \"localhost\""},
	} {
		t.Run(name, func(t *testing.T) {
			s.show(t, tc.by, tc.change)
			s.in(t).mustRefuse([]string{"run", "--", "true"}, tc.want)
		})
	}
	end.raise()
	r := l.wait()
	r.expect(t, "error", "commit", 125)
	if !strings.Contains(r.Message, s.host()) || !strings.Contains(r.Message, s.outcome(id)) {
		t.Errorf("%s", r.Message)
	}
	s.show(t, s.own)
	if out := s.mustRun("gc").stdout; !strings.Contains(out, "committed "+id+"@1") {
		t.Errorf("%s", out)
	}
	if got := s.mustRun("outputs", "cat", id, "x").stdout; got != "x\n" {
		t.Errorf("%q", got)
	}
	s.mustRun("catalog", "check", "--digests")
}
