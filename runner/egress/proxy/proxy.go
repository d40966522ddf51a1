// Package proxy sends requests of one run on to the allowed hosts, and to no other: plain ones of HTTP/1.1, and tunnels
// (CONNECT) whose TLS greeting names the host that was asked for. It trusts nothing that the run sends.
package proxy

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/net/netutil"

	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/egress"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Bounds of a run's requests.
const (
	maxConnections = 64
	maxHeader      = 64 << 10
	maxReceived    = 64 << 30 // bytes: /work bounds what is kept of it

	headerTimeout   = 30 * time.Second
	greetingTimeout = 30 * time.Second
	idleTimeout     = 10 * time.Minute // of a server that says nothing
)

// Proxy serves one run.
type Proxy struct {
	hosts   []spec.Host
	own     []string // hosts of the platform, with the names below them: that of a bucket is below its server's
	inject  []egress.Injection
	network Network
	record  func(result.Request)

	requests, upload, download budget // what is left for the whole run
	live                       live
}

// Network is the outside: the tests have their own.
type Network struct {
	// Resolve returns the addresses of a full DNS name, without a final '.'.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Refused says why no request goes to the address; "" if one may.
	Refused func(netip.Addr) string
	Dial    func(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Roots are the authorities for requests that get a header; nil: the system's.
	Roots *x509.CertPool
}

// New makes a proxy, which calls record for each request that has ended, from several goroutines.
func New(config egress.Config, network Network, record func(result.Request)) (*Proxy, error) {
	hosts, err := spec.ParseHosts(config.Hosts)
	if err != nil {
		return nil, err
	}
	p := &Proxy{hosts: hosts, own: config.Own, inject: config.Inject, network: network, record: record}
	p.requests.left.Store(egress.MaxRequests)
	p.upload.left.Store(config.Upload)
	p.download.left.Store(maxReceived)
	return p, nil
}

// Serve serves until the listener is closed, or until the run has made more requests than it may. Then it ends what is on its way, and
// returns when all is recorded.
func (p *Proxy) Serve(l net.Listener) error {
	ctx, cancel := context.WithCancel(context.Background())
	server := &http.Server{
		ReadHeaderTimeout: headerTimeout, MaxHeaderBytes: maxHeader, DisableGeneralOptionsHandler: true,
		ErrorLog: log.New(io.Discard, "", 0), BaseContext: func(net.Listener) context.Context { return ctx },
	}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !p.requests.take(1) {
			_ = server.Close()
			p.record(result.Request{At: time.Now().UTC(), Verdict: result.RequestRefused, Why: fmt.Sprintf("no more requests are taken, after %d", egress.MaxRequests)})
			panic(http.ErrAbortHandler)
		}
		p.ServeHTTP(w, r)
	})
	err := server.Serve(netutil.LimitListener(l, maxConnections))
	cancel()
	_ = server.Close()
	p.live.end()
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// ServeHTTP answers one request, and records it.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	x := &exchange{started: time.Now(), proxy: p}
	x.record = result.Request{At: x.started.UTC(), Method: r.Method, Host: r.Host, Verdict: result.RequestAllowed}
	if !p.live.add(x) {
		panic(http.ErrAbortHandler)
	}
	defer p.live.remove(x)
	defer x.end()
	var err error
	if r.Method == http.MethodConnect {
		err = x.tunnel(w, r)
	} else {
		err = x.forward(w, r)
	}
	x.fail(err)
}
