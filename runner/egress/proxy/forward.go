package proxy

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// forward sends a plain request on. It copies no bytes from the client to the server: net/http reads the client's request strictly and
// writes a new one. So nobody can smuggle a false length, a header or a second request to the server.
func (x *exchange) forward(w http.ResponseWriter, r *http.Request) error {
	if err := plain(r); err != nil {
		return answer(w, err)
	}
	header, err := x.injected(r)
	if err != nil {
		return answer(w, err)
	}
	var failed error
	proxy := httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { rewrite(r); header.add(r.Out) }, Transport: x.transport(), FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			if own := bound(err); own != nil {
				err = own
			}
			failed = answer(w, err)
		},
	}
	defer func() {
		if cut := recover(); cut != nil { // the answer is not whole
			if failed == nil {
				failed = errors.New("the answer was cut off")
			}
			x.fail(failed)
			panic(cut)
		}
	}()
	proxy.ServeHTTP(w, r)
	return failed
}

// plain refuses a request that a proxy does not take in plain text.
func plain(r *http.Request) error {
	switch {
	case r.URL.Scheme == "https":
		return malformed("https:// is asked for by CONNECT; this client sends it in plain text")
	case r.URL.Scheme != "http" || r.URL.Host == "":
		return malformed("this is a proxy: it takes http://HOST/PATH and CONNECT HOST:443")
	case r.URL.User != nil:
		return malformed("the URL has a user name or a password: give them in a header")
	case r.Method == http.MethodTrace:
		return refuse("TRACE is not sent on")
	case r.Header.Get("Upgrade") != "":
		return refuse("no other protocol is sent on (Upgrade); ask by https for that")
	}
	return nil
}

// rewrite makes the request to the server. ReverseProxy has removed what is only for one connection.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = "" // that of the URL
	r.Out.Trailer = nil
	r.Out.Header.Del("Te")
}

// transport dials only for this exchange.
func (x *exchange) transport() *http.Transport {
	return &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return x.dial(ctx) },
		TLSClientConfig:        &tls.Config{RootCAs: x.proxy.network.Roots, MinVersion: tls.VersionTLS12},
		DisableKeepAlives:      true,
		DisableCompression:     true,
		ResponseHeaderTimeout:  idleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// bound returns the refusal that an error has or wraps, or nil.
func bound(err error) error {
	var own *refusal
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, errDownload):
		return errDownload
	}
	return nil
}
