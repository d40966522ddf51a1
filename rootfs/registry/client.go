package registry

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"

	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/scidex-ai/scidex-oci/internal/loopback"
	"github.com/scidex-ai/scidex-oci/rootfs/layout"
)

// connect makes the client for a source. Certificates are verified with the system's authorities, or those in
// SSL_CERT_FILE (crypto/x509), and those of the host's directory. Nothing is sent before the first request. Call done at the
// end.
func (p *puller) connect() (done func()) {
	to := &transports{base: p.transport(), certs: p.CertDirs, each: make(map[string]*http.Transport)}
	client := &http.Client{
		Transport: &retry.Transport{
			Base:   to,
			Policy: func() retry.Policy { return retryPolicy{first: p.backoff, mirror: p.from.mirror, log: p.Log} },
		},
		CheckRedirect: checkRedirect,
	}
	p.repo = &remote.Repository{
		Reference:          p.from.remote(),
		PlainHTTP:          p.from.plain,
		ManifestMediaTypes: manifestTypes,
		MaxMetadataBytes:   layout.MaxManifest,
		Client: &auth.Client{
			Client:     client,
			Header:     http.Header{"User-Agent": {p.UserAgent}},
			Cache:      auth.NewCache(),
			Credential: p.credential,
		},
	}
	return to.closeIdle
}

func (p *puller) transport() *http.Transport {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = p.stall
	transport.DisableCompression = true // sizes and digests are of stored bytes
	// One HTTP/2 connection carries all requests: a retry must not use a dead one.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: p.stall / 2, PingTimeout: p.stall / 2}
	transport.MaxResponseHeaderBytes = 1 << 20
	return transport
}

// credential is that of the source, only for its own host.
func (p *puller) credential(ctx context.Context, host string) (auth.Credential, error) {
	if p.Credentials == nil || canonical(host) != canonical(p.from.host) {
		return auth.EmptyCredential, nil
	}
	return p.Credentials(ctx, p.from.host, p.from.path)
}

// checkRedirect runs after oras has removed the credentials from a request to another address.
func checkRedirect(to *http.Request, via []*http.Request) error {
	const most = 10
	if len(via) >= most {
		return fmt.Errorf("stopped after %d redirects", most)
	}
	if via[0].URL.Scheme == "https" && to.URL.Scheme != "https" {
		return fmt.Errorf("the registry leads away from TLS, to %s", to.URL.Redacted())
	}
	return nil
}

// speaksPlainHTTP reports whether a registry on this machine answered a TLS handshake in plain HTTP. On any other, an
// attacker in between could have.
func (p *puller) speaksPlainHTTP(err error) bool {
	var record tls.RecordHeaderError
	plain := errors.Is(err, http.ErrSchemeMismatch) || errors.As(err, &record)
	return plain && !p.repo.PlainHTTP && loopback.Names(p.repo.Reference.Registry)
}
