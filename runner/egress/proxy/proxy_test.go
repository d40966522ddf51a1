package proxy

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
)

// world is an Internet on loopback: names with addresses, and servers behind them.
type world struct {
	t       testing.TB
	names   map[string][]netip.Addr
	servers map[netip.AddrPort]string // to where on loopback
	refused func(netip.Addr) string

	mu      sync.Mutex
	looked  []string
	dialled []netip.AddrPort
	records []result.Request
}

const (
	home  = "93.184.215.14" // of api.example.org
	other = "151.101.1.6"   // of other.example.org
)

func newWorld(t testing.TB) *world {
	t.Helper()
	return &world{
		t: t, servers: map[netip.AddrPort]string{}, refused: notPublic,
		names: map[string][]netip.Addr{
			"api.example.org": {netip.MustParseAddr(home)}, "other.example.org": {netip.MustParseAddr(other)},
		},
	}
}

func (w *world) network() Network {
	return Network{
		Refused: func(a netip.Addr) string { return w.refused(a) },
		Resolve: func(_ context.Context, name string) ([]netip.Addr, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.looked = append(w.looked, name)
			if list := w.names[name]; list != nil {
				return append([]netip.Addr(nil), list...), nil
			}
			return nil, errors.New("no such host")
		},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			w.mu.Lock()
			w.dialled = append(w.dialled, to)
			place, there := w.servers[to]
			w.mu.Unlock()
			if !there {
				return nil, fmt.Errorf("dial %s: no route", to)
			}
			var d net.Dialer
			return d.DialContext(ctx, "tcp", place)
		},
	}
}

// serve puts a server behind an address.
func (w *world) serve(at string, port uint16, l net.Listener) {
	w.servers[netip.AddrPortFrom(netip.MustParseAddr(at), port)] = l.Addr().String()
}

// start starts a proxy and returns where it listens.
func (w *world) start(config egress.Config) string {
	w.t.Helper()
	_, l, _ := w.listen(config)
	return l.Addr().String()
}

func (w *world) listen(config egress.Config) (*Proxy, net.Listener, <-chan struct{}) {
	w.t.Helper()
	if config.Upload == 0 {
		config.Upload = 1 << 20
	}
	p, err := New(config, w.network(), func(r result.Request) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.records = append(w.records, r)
	})
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = p.Serve(l)
	}()
	w.t.Cleanup(func() { l.Close(); <-done })
	return p, l, done
}

// last waits for a number of records and returns the last one.
func (w *world) last(n int) result.Request {
	w.t.Helper()
	for range 2000 {
		w.mu.Lock()
		got := len(w.records)
		w.mu.Unlock()
		if got >= n {
			break
		}
		time.Sleep(10 * time.Millisecond) // a server ends its side later than the client sees the end
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) != n {
		w.t.Fatalf("%d records, want %d: %+v", len(w.records), n, w.records)
	}
	return w.records[n-1]
}

// client sends requests by the proxy, and trusts the server.
func client(t testing.TB, proxy string, trust *httptest.Server) *http.Client {
	t.Helper()
	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: proxy}), DisableCompression: true}
	if trust != nil {
		pool := x509.NewCertPool()
		pool.AddCert(trust.Certificate())
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// tlsServer is api.example.org's own server, on port 443.
func tlsServer(t testing.TB, w *world, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.StartTLS()
	t.Cleanup(server.Close)
	w.serve(home, 443, server.Listener)
	return server
}

func plainServer(t *testing.T, w *world, handler http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w.serve(home, 80, server.Listener)
}

func hello(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

var api = egress.Config{Hosts: []string{"api.example.org"}}

func TestTunnel(t *testing.T) {
	w := newWorld(t)
	server := tlsServer(t, w, hello)
	c := client(t, w.start(egress.Config{Hosts: []string{"*.example.org:443", "example.com"}}), server)
	c.Transport.(*http.Transport).TLSClientConfig.ServerName = "example.com" // httptest's certificate
	w.names["example.com"] = w.names["api.example.org"]
	body := get(t, c, "https://example.com/x")
	if body != "hello" {
		t.Errorf("%q", body)
	}
	c.CloseIdleConnections()
	r := w.last(1)
	if r.Verdict != result.RequestAllowed || r.Host != "example.com" || r.Port != 443 || r.Address != home || r.Sent < 100 || r.Received < 100 || r.Method != "CONNECT" {
		t.Errorf("%+v", r)
	}
}

func get(t *testing.T, c *http.Client, url string) string {
	t.Helper()
	answer, err := c.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestForward(t *testing.T) {
	w := newWorld(t)
	var seen *http.Request
	var sent string
	plainServer(t, w, func(rw http.ResponseWriter, r *http.Request) {
		seen = r
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		rw.Header().Set("X-Answer", "yes")
		rw.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(rw, "short and stout")
	})
	c := client(t, w.start(api), nil)
	answer, err := c.Post("http://API.example.org/a%2Fb?x=1;2&y", "text/plain", strings.NewReader("in"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(answer.Body)
	answer.Body.Close()
	if answer.StatusCode != http.StatusTeapot || string(body) != "short and stout" || answer.Header.Get("X-Answer") != "yes" {
		t.Errorf("%v %q", answer, body)
	}
	if seen.RequestURI != "/a%2Fb?x=1;2&y" || !strings.EqualFold(seen.Host, "api.example.org") || sent != "in" || seen.Header.Get("Proxy-Connection") != "" {
		t.Errorf("the server saw %s of %s, %q, %v", seen.RequestURI, seen.Host, sent, seen.Header)
	}
	if r := w.last(1); r.Verdict != result.RequestAllowed || r.Method != "POST" || r.Host != "api.example.org" || r.Port != 80 || r.Sent == 0 || r.Received == 0 {
		t.Errorf("%+v", r)
	}
}

// raw sends text to the proxy and returns all that it answers.
func raw(t *testing.T, proxy, text string) string {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	all, err := io.ReadAll(conn)
	if err != nil {
		t.Errorf("%q: %v after %q", text, err, all)
	}
	return string(all)
}

// TestRefused: the request is answered, recorded and the connection closed, and no name is looked up but that of a permitted host.
func TestRefused(t *testing.T) {
	for title, c := range map[string]struct{ request, status, why string }{
		"another host":           {"GET http://other.example.org/ HTTP/1.1\r\nHost: other.example.org\r\n\r\n", "403", "other.example.org:80 is not among"},
		"a host below":           {"GET http://x.api.example.org/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"a host above":           {"CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\n\r\n", "403", "is not among"},
		"a longer name":          {"CONNECT evilapi.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"a final dot":            {"GET http://api.example.org./ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"another port":           {"CONNECT api.example.org:5432 HTTP/1.1\r\nHost: x\r\n\r\n", "403", "api.example.org:5432 is not among"},
		"no port":                {"CONNECT api.example.org HTTP/1.1\r\nHost: x\r\n\r\n", "400", "is not HOST:PORT"},
		"port 0":                 {"CONNECT api.example.org:0 HTTP/1.1\r\nHost: x\r\n\r\n", "400", "is not HOST:PORT"},
		"a large port":           {"CONNECT api.example.org:65979 HTTP/1.1\r\nHost: x\r\n\r\n", "400", "is not HOST:PORT"},
		"an address":             {"GET http://127.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"an octal address":       {"GET http://0177.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"a hex address":          {"GET http://0x7f000001/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"an integer":             {"GET http://2130706433/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "is not among"},
		"an IPv6 address":        {"CONNECT [::1]:443 HTTP/1.1\r\nHost: x\r\n\r\n", "400", "is not HOST:PORT"},
		"Host names the allowed": {"GET http://other.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "403", "other.example.org:80"},
		"no proxy's request":     {"GET / HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "400", "this is a proxy"},
		"https in plain":         {"GET https://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "400", "asked for by CONNECT"},
		"another scheme":         {"GET ftp://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "400", "this is a proxy"},
		"a password":             {"GET http://a:b@api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "400", "user name"},
		"TRACE":                  {"TRACE http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "403", "TRACE"},
		"an upgrade":             {"GET http://api.example.org/ HTTP/1.1\r\nHost: x\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", "403", "Upgrade"},
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			proxy := w.start(api)
			got := raw(t, proxy, c.request+"GET http://api.example.org/ HTTP/1.1\r\nHost: api.example.org\r\n\r\n")
			if !strings.HasPrefix(got, "HTTP/1.1 "+c.status) || !strings.Contains(got, c.why) || strings.Count(got, "HTTP/1.1") != 1 {
				t.Errorf("%q", got)
			}
			if r := w.last(1); r.Verdict != result.RequestRefused || !strings.Contains(r.Why, c.why) {
				t.Errorf("%+v", r)
			}
			if len(w.looked) > 0 {
				t.Errorf("it looked up %v", w.looked)
			}
		})
	}
}

// TestOwn: the platform's own services are not asked, whatever is permitted.
func TestOwn(t *testing.T) {
	w := newWorld(t)
	proxy := w.start(egress.Config{Hosts: []string{"*.example.org", "db.example.com"}, Own: []string{"s3.example.org", "db.example.com"}})
	for _, host := range []string{"s3.example.org", "bucket.s3.example.org", "db.example.com"} {
		if got := raw(t, proxy, "CONNECT "+host+":443 HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 403") || !strings.Contains(got, "the platform's own") {
			t.Errorf("%s: %q", host, got)
		}
	}
	if len(w.looked) > 0 {
		t.Errorf("it looked up %v", w.looked)
	}
}

// TestAddresses: a name that has an address of the host's networks is refused, even if another of its addresses is public. A proxy
// that does not look sends the request.
func TestAddresses(t *testing.T) {
	for _, inside := range []string{"127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "fd00::1"} {
		t.Run(inside, func(t *testing.T) {
			w := newWorld(t)
			secret := httptest.NewServer(http.HandlerFunc(hello))
			t.Cleanup(secret.Close)
			w.serve(home, 80, secret.Listener)
			w.serve(netip.MustParseAddr(inside).Unmap().String(), 80, secret.Listener)
			w.names["api.example.org"] = []netip.Addr{netip.MustParseAddr(inside), netip.MustParseAddr(home)}
			naive := newWorld(t)
			naive.names, naive.servers, naive.refused = w.names, w.servers, func(netip.Addr) string { return "" }
			if got := get(t, client(t, naive.start(api), nil), "http://api.example.org/"); got != "hello" || naive.dialled[0].Addr().String() == home {
				t.Fatalf("the attack does not work outside: %q by %v", got, naive.dialled)
			}
			proxy := w.start(api)
			for asked := 1; asked <= 2; asked++ { // the second time the public one comes first
				got := raw(t, proxy, "GET http://api.example.org/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				if !strings.HasPrefix(got, "HTTP/1.1 403") || !strings.Contains(got, "which no analysis may reach") || len(w.dialled) > 0 {
					t.Errorf("%q, dialled %v", got, w.dialled)
				}
				if r := w.last(asked); r.Verdict != result.RequestRefused || r.Address != "" {
					t.Errorf("%+v", r)
				}
				slices.Reverse(w.names["api.example.org"])
			}
		})
	}
}

// TestRebinding: a name is looked up once for each request, and what was checked is dialled. One that is looked up for the check and
// again to dial leads to this host.
func TestRebinding(t *testing.T) {
	w := newWorld(t)
	plainServer(t, w, hello)
	looked := 0
	n := w.network()
	n.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		looked++
		if looked == 1 {
			return []netip.Addr{netip.MustParseAddr(home)}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	checked, _ := n.Resolve(t.Context(), "api.example.org")
	dialled, _ := n.Resolve(t.Context(), "api.example.org")
	if n.Refused(checked[0]) != "" || n.Refused(dialled[0]) == "" {
		t.Fatal("the attack does not work by two look-ups")
	}
	looked = 0
	p, err := New(egress.Config{Hosts: api.Hosts, Upload: 1 << 20}, n, func(result.Request) {})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, httptest.NewRequest("GET", "http://api.example.org/", nil))
	if answer.Code != 200 || looked != 1 || len(w.dialled) != 1 || w.dialled[0].Addr().String() != home {
		t.Errorf("%d, %d look-ups, dialled %v", answer.Code, looked, w.dialled)
	}
}

// TestGreeting: what follows CONNECT is TLS for that host. The attacks work by a proxy that passes on what comes.
func TestGreeting(t *testing.T) {
	tlsFor := func(name string, protocols ...string) func(net.Conn) error {
		return func(c net.Conn) error {
			return tls.Client(c, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: protocols}).Handshake()
		}
	}
	line := func(text string) func(net.Conn) error {
		return func(c net.Conn) error {
			if _, err := io.WriteString(c, text); err != nil {
				return err
			}
			_, err := io.ReadFull(c, make([]byte, 2))
			return err
		}
	}
	for title, c := range map[string]struct {
		attack func(net.Conn) error
		why    string
	}{
		"another name":        {tlsFor("other.example.org"), `greeting is for "other.example.org"`},
		"no name":             {tlsFor(""), "names no server"},
		"PostgreSQL":          {line("\x00\x00\x00\x08\x04\xd2\x16\x2f"), "no TLS greeting"},
		"SMTP":                {line("EHLO x\r\n"), "no TLS greeting"},
		"plain HTTP":          {line("GET / HTTP/1.1\r\nHost: other\r\n\r\n"), "no TLS greeting"},
		"PostgreSQL over TLS": {tlsFor("api.example.org", "postgresql"), `protocol "postgresql" of a database`},
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			reached := make(chan struct{}, 4)
			w.serve(home, 443, answering(t, reached))
			straight, err := w.network().Dial(t.Context(), netip.MustParseAddrPort(home+":443"))
			if err != nil {
				t.Fatal(err)
			}
			if _ = c.attack(straight); len(reached) != 1 {
				t.Fatal("the attack does not reach a server outside")
			}
			straight.Close()
			conn := connect(t, w.start(api), "api.example.org:443")
			if err := c.attack(conn); err == nil {
				if alert, _ := io.ReadAll(conn); !bytes.Contains(alert, accessDenied[len(accessDenied)-1:]) {
					t.Errorf("answered %q", alert)
				}
			}
			if r := w.last(1); r.Verdict != result.RequestRefused || !strings.Contains(r.Why, c.why) || r.Sent != 0 {
				t.Errorf("%+v", r)
			}
			if len(reached) != 1 {
				t.Error("the server was reached")
			}
		})
	}
}

// answering is a server that notes a first byte and answers anything.
func answering(t *testing.T, reached chan<- struct{}) net.Listener {
	t.Helper()
	return listening(t, func(c net.Conn) {
		defer c.Close()
		if n, _ := c.Read(make([]byte, 4096)); n > 0 {
			reached <- struct{}{}
			_, _ = c.Write([]byte("OK\r\n"))
		}
	})
}

// connect opens a tunnel.
func connect(t *testing.T, proxy, to string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_, _ = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	_ = conn.SetDeadline(time.Now().Add(time.Minute))
	answer, err := http.ReadResponse(bufio.NewReaderSize(io.LimitReader(conn, int64(len("HTTP/1.1 200 Connection established\r\n\r\n"))), 16), nil)
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	return conn
}

// TestSmuggling: one request of the client is one of the server's, whatever its lengths say.
func TestSmuggling(t *testing.T) {
	second := "GET http://api.example.org/smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
	for title, request := range map[string]string{
		"both lengths":        "POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"two lengths":         "POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nContent-Length: 0\r\n\r\n",
		"a hidden encoding":   "POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
		"an unknown encoding": "POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"a bare line feed":    "GET http://api.example.org/one HTTP/1.1\r\nHost: x\r\nX: a\n\n" + second,
		"a folded header":     "GET http://api.example.org/one HTTP/1.1\r\nHost: x\r\nX: a\r\n b\r\n\r\n",
		"a trailer":           "POST http://api.example.org/one HTTP/1.1\r\nHost: x\r\nTrailer: X-Late\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX-Late: 1\r\nHost: other\r\n\r\n",
		"its own connection":  "GET http://api.example.org/one HTTP/1.1\r\nHost: x\r\nConnection: close, X-Hidden\r\nX-Hidden: 1\r\n\r\n",
	} {
		t.Run(title, func(t *testing.T) {
			w := newWorld(t)
			var mu sync.Mutex
			var seen []string
			plainServer(t, w, func(_ http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				mu.Lock()
				defer mu.Unlock()
				if len(r.TransferEncoding) > 1 || len(r.Trailer) > 0 || r.Header.Get("X-Hidden") != "" || r.Host != "api.example.org" {
					t.Errorf("the server saw %v, %v, %v, %s", r.TransferEncoding, r.Trailer, r.Header, r.Host)
				}
				seen = append(seen, r.URL.Path+" "+string(body))
			})
			got := raw(t, w.start(api), request+strings.Replace(second, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1))
			mu.Lock()
			defer mu.Unlock()
			for _, one := range seen {
				if one != "/one " && one != "/smuggled " {
					t.Errorf("the server saw %q", one)
				}
			}
			if answers := strings.Count(got, "HTTP/1.1 200"); answers != len(seen) {
				t.Errorf("%d answers for %d requests: %q", answers, len(seen), got)
			}
		})
	}
}

// TestUpload: what all requests send is bounded, and a tunnel counts as plain requests do.
func TestUpload(t *testing.T) {
	w := newWorld(t)
	var got atomic.Int64
	plainServer(t, w, func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		got.Add(n)
	})
	c := client(t, w.start(egress.Config{Hosts: api.Hosts, Upload: 100_000}), nil)
	answer, err := c.Post("http://api.example.org/", "", bytes.NewReader(make([]byte, 60_000)))
	if err != nil || answer.StatusCode != 200 {
		t.Fatalf("%v, %v", answer, err)
	}
	answer.Body.Close()
	if answer, err = c.Post("http://api.example.org/", "", bytes.NewReader(make([]byte, 60_000))); err == nil {
		body, _ := io.ReadAll(answer.Body)
		answer.Body.Close()
		if answer.StatusCode != 413 || !strings.Contains(string(body), "--allow-upload") {
			t.Errorf("%v %s", answer, body)
		}
	}
	if r := w.last(2); r.Verdict != result.RequestRefused || !strings.Contains(r.Why, "--allow-upload") {
		t.Errorf("%+v", r)
	}
	if got.Load() > 100_000 {
		t.Errorf("the server got %d bytes", got.Load())
	}
}

// TestDownstream: a server that ends, cuts or floods.
func TestDownstream(t *testing.T) {
	w := newWorld(t)
	plainServer(t, w, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(rw, "half")
		rw.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	answer, err := client(t, w.start(api), nil).Get("http://api.example.org/")
	if err == nil {
		_, err = io.ReadAll(answer.Body)
		answer.Body.Close()
	}
	if err == nil {
		t.Error("an answer that was cut off looks whole")
	}
	if r := w.last(1); r.Verdict != result.RequestFailed {
		t.Errorf("%+v", r)
	}
}

// TestHopeless: a name without an address, and one that nothing listens on, are the network's failures.
func TestHopeless(t *testing.T) {
	w := newWorld(t)
	delete(w.names, "api.example.org")
	proxy := w.start(api)
	if got := raw(t, proxy, "CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 502") || !strings.Contains(got, "cannot be resolved") {
		t.Errorf("%q", got)
	}
	w.names["api.example.org"] = []netip.Addr{netip.MustParseAddr(home)}
	if got := raw(t, proxy, "CONNECT api.example.org:443 HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 502") {
		t.Errorf("%q", got)
	}
	if r := w.last(2); r.Verdict != result.RequestFailed {
		t.Errorf("%+v", r)
	}
}

// TestFlood: after so many requests the proxy is gone, and nothing else takes its place.
func TestFlood(t *testing.T) {
	w := newWorld(t)
	plainServer(t, w, hello)
	p, l, done := w.listen(api)
	p.requests.left.Store(3)
	for range 3 {
		if got := raw(t, l.Addr().String(), "GET http://api.example.org/ HTTP/1.0\r\n\r\n"); !strings.HasSuffix(got, "hello") {
			t.Errorf("%q", got)
		}
	}
	if got := raw(t, l.Addr().String(), "GET http://api.example.org/ HTTP/1.0\r\n\r\n"); got != "" {
		t.Errorf("the fourth got %q", got)
	}
	<-done
	if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
		t.Error("it still listens")
	}
	if r := w.last(4); r.Verdict != result.RequestRefused || !strings.Contains(r.Why, "no more requests") {
		t.Errorf("%+v", r)
	}
}

// TestEnd: a tunnel that is open at the end is ended, and recorded.
func TestEnd(t *testing.T) {
	w := newWorld(t)
	server := tlsServer(t, w, func(rw http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(rw, "first")
		rw.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	w.names["example.com"] = w.names["api.example.org"]
	_, l, done := w.listen(egress.Config{Hosts: []string{"example.com"}})
	answer, err := client(t, l.Addr().String(), server).Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if _, err := io.ReadFull(answer.Body, make([]byte, 5)); err != nil {
		t.Fatal(err)
	}
	l.Close()
	<-done
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.records) != 1 || w.records[0].Received == 0 {
		t.Errorf("%+v", w.records)
	}
}
