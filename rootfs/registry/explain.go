package registry

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode"

	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
)

// explain adds advice to common errors.
func explain(err error, ref Reference) error {
	var answer *errcode.ErrorResponse
	var certificate *tls.CertificateVerificationError
	host := ref.remote().Registry
	switch {
	case errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("%s wants a user name and a password; store them with: docker login %s, or podman login: %w", host, host, err)
	case errors.As(err, &certificate):
		return fmt.Errorf("the certificate of %s is not trusted; name its authority's file in SSL_CERT_FILE: %w", host, certificate.Err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s speaks no TLS: %w", host, err)
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

// printable escapes a hostile registry's text in an error: no control character of it reaches a terminal.
type printable struct{ error }

func (p printable) Error() string {
	const most = 2000
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, p.error.Error())
	return fmt.Sprintf("%.*s", most, text)
}

func (p printable) Unwrap() error { return p.error }
