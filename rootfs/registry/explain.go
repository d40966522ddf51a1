package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// explain adds advice to common errors.
func (p *puller) explain(err error) error {
	var answer *errcode.ErrorResponse
	var certificate *tls.CertificateVerificationError
	var network *net.OpError
	host := p.from.host
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("%s wants a user name and a password; store them with: docker login %s, or podman login: %w", host, host, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is not trusted; put its authority's into %s, or name the file in SSL_CERT_FILE: %w",
			p.failedAt(err), p.certFile(err, "ca.crt"), certificate.Err)
	case wantsCertificate(err):
		return fmt.Errorf("%s does not take this client's certificate, or wants one; put it and its key into %s and client.key beside it: %w",
			p.failedAt(err), p.certFile(err, "client.cert"), err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks no TLS: %w", host, err)
	case errors.As(err, &network) && network.Op == "dial":
		return fmt.Errorf("%s cannot be reached: %w; check the name and the network", p.failedAt(err), network.Err)
	case errors.Is(err, errdef.ErrNotFound):
		return fmt.Errorf("%s has no such image: %w", host, err)
	case !errors.As(err, &answer):
		return err
	}
	switch answer.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%s refuses, or has no such image; give credentials with: docker login %s, or podman login: %w", host, host, err)
	case http.StatusTooManyRequests:
		return fmt.Errorf("%s asks to come back later; with credentials it may allow more: %w", host, err)
	}
	return err
}

// failedAt is the host of the request that failed, which a redirect may have named.
func (p *puller) failedAt(err error) string {
	var request *url.Error
	if errors.As(err, &request) {
		if to, err := url.Parse(request.URL); err == nil && to.Host != "" {
			return to.Host
		}
	}
	return p.from.host
}

// certFile is a path at which the certificates of that host may be.
func (p *puller) certFile(err error, name string) string {
	dir := "certs.d"
	if len(p.CertDirs) > 0 {
		dir = p.CertDirs[0]
	}
	return filepath.Join(dir, canonical(p.failedAt(err)), name)
}

// wantsCertificate reports whether the server ended a connection for the client's certificate (RFC 8446, 6.2). crypto/tls
// exports no type of these alerts.
func wantsCertificate(err error) bool {
	var network *net.OpError
	if !errors.As(err, &network) || network.Op != "remote error" {
		return false
	}
	text := network.Error()
	return strings.Contains(text, "certificate") || strings.HasSuffix(text, "handshake failure")
}

// printable escapes a hostile registry's text in an error: no control character of it reaches a terminal.
type printable struct{ error }

func (p printable) Error() string { return format.Line(p.error.Error(), 2000) }

func (p printable) Unwrap() error { return p.error }
