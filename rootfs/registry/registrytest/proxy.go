package registrytest

import (
	"crypto/tls"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// Fault may answer a request itself, instead of passing it to next, the registry.
type Fault func(w http.ResponseWriter, r *http.Request, next http.Handler)

// Proxy is a TLS server before a registry.
type Proxy struct {
	Address string // host:port on loopback
	mutex   sync.Mutex
	fault   Fault
	seen    []*http.Request
}

// NewProxy runs a proxy before a registry until the end of the test.
func NewProxy(t testing.TB, s *Server) *Proxy { return NewProxyWith(t, s, s.Authority, nil) }

// NewProxyWith is NewProxy with a certificate of another authority. It demands client certificates of clients, unless
// that is nil.
func NewProxyWith(t testing.TB, s *Server, own, clients *Authority) *Proxy {
	t.Helper()
	to := &url.URL{Scheme: "https", Host: s.Address}
	if s.plain {
		to.Scheme = "http"
	}
	behind := httputil.NewSingleHostReverseProxy(to)
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{RootCAs: s.Authority.Pool(), MinVersion: tls.VersionTLS12}
	behind.Transport = transport
	behind.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(transport.CloseIdleConnections)
	p := &Proxy{}
	config := own.config(t)
	if clients != nil {
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool()
	}
	url := tlsServer(t, config, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mutex.Lock()
		p.seen = append(p.seen, r.Clone(r.Context()))
		fault := p.fault
		p.mutex.Unlock()
		if fault == nil {
			behind.ServeHTTP(w, r)
			return
		}
		fault(w, r, behind)
	}))
	p.Address = strings.TrimPrefix(url, "https://")
	return p
}

// TLSServer runs a server with the registry authority's certificate, until the end of the test, and returns its URL.
func (s *Server) TLSServer(t testing.TB, handler http.Handler) string {
	t.Helper()
	return tlsServer(t, s.Authority.config(t), handler)
}

func tlsServer(t testing.TB, config *tls.Config, handler http.Handler) string {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.TLS = config
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // broken connections are its purpose
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// Fail sets the fault of future requests, and clears the requests seen; nil passes all.
func (p *Proxy) Fail(fault Fault) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.fault, p.seen = fault, nil
}

// Seen returns the requests whose path contains a word.
func (p *Proxy) Seen(word string) []*http.Request {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var found []*http.Request
	for _, r := range p.seen {
		if strings.Contains(r.URL.Path, word) {
			found = append(found, r)
		}
	}
	return found
}

// Cut returns a writer that breaks the connection after some bytes of the body.
func Cut(w http.ResponseWriter, after int) http.ResponseWriter { return &cutter{w, after} }

type cutter struct {
	http.ResponseWriter
	left int
}

func (c *cutter) Write(p []byte) (int, error) {
	if len(p) < c.left {
		c.left -= len(p)
		return c.ResponseWriter.Write(p)
	}
	_, _ = c.ResponseWriter.Write(p[:c.left])
	c.ResponseWriter.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// Record runs a handler and returns its answer for a fault to change.
func Record(next http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	next.ServeHTTP(w, r)
	return w
}

// Send sends a recorded response with another body.
func Send(w http.ResponseWriter, answer *httptest.ResponseRecorder, body []byte) {
	for key, values := range answer.Header() {
		if key != "Content-Length" {
			w.Header()[key] = values
		}
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(body)
}
