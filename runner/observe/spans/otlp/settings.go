// Package otlp sends spans by OpenTelemetry's protocol over HTTP. It uses OpenTelemetry's types for messages, but not its exporter, which
// retries too seldom and needs gRPC (docs/adr/0049).
package otlp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/runner/observe/spans"
)

// Settings say how spans are sent.
type Settings struct {
	URL      string
	Headers  http.Header
	JSON     bool // else protobuf
	Gzip     bool
	Timeout  time.Duration // of all of it
	TLS      *tls.Config
	Resource map[string]string
	Version  string
}

// defaultEndpoint is OpenTelemetry's.
const defaultEndpoint = "http://localhost:4318"

// ReadSettings reads the variables of OpenTelemetry's specification.
func ReadSettings(env func(name string) string, version string) (s Settings, err error) {
	s = Settings{Timeout: spans.Timeout(env), Version: version, Headers: http.Header{}}
	if s.URL, err = endpoint(env); err != nil {
		return s, err
	}
	switch protocol := spans.Setting(env, "PROTOCOL"); protocol {
	case "", "http/protobuf":
	case "http/json":
		s.JSON = true
	default:
		return s, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL is %q; give http/protobuf or http/json, and the port of those, which is 4318 by default", protocol)
	}
	switch compression := spans.Setting(env, "COMPRESSION"); compression {
	case "", "none":
	case "gzip":
		s.Gzip = true
	default:
		return s, fmt.Errorf("OTEL_EXPORTER_OTLP_COMPRESSION is %q; give gzip or none", compression)
	}
	headers, err := pairs(spans.Setting(env, "HEADERS"))
	if err != nil {
		return s, errors.New("OTEL_EXPORTER_OTLP_HEADERS is not read; give NAME=VALUE,NAME=VALUE, with %2C for a comma in a value") // it may be secret
	}
	for name, value := range headers {
		s.Headers.Set(name, value)
	}
	if s.Resource, err = resource(env, version); err != nil {
		return s, err
	}
	s.TLS, err = tlsConfig(env)
	return s, err
}

// endpoint is the URL that spans are sent to: that of traces as it is, that of all signals with a path for traces.
func endpoint(env func(name string) string) (string, error) {
	name, path := "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", ""
	text := env(name)
	if text == "" {
		name, path = "OTEL_EXPORTER_OTLP_ENDPOINT", "/v1/traces"
		text = env(name)
	}
	if text == "" {
		text = defaultEndpoint
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s is no URL of HTTP; give one as %s", name, defaultEndpoint) // it may have a password
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + path
	return u.String(), nil
}

// pairs reads a list as NAME=VALUE,NAME=VALUE, with values as in URLs.
func pairs(text string) (map[string]string, error) {
	all := map[string]string{}
	for pair := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(pair) == "" {
			continue
		}
		name, value, found := strings.Cut(pair, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !found || name == "" || err != nil {
			return nil, errors.New("it is no list of NAME=VALUE")
		}
		all[name] = value
	}
	return all, nil
}

// resource is what the spans come from.
func resource(env func(name string) string, version string) (map[string]string, error) {
	all := map[string]string{"service.name": "scidex-oci", "service.version": version}
	given, err := pairs(env("OTEL_RESOURCE_ATTRIBUTES"))
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	for name, value := range given {
		all[name] = value
	}
	if name := env("OTEL_SERVICE_NAME"); name != "" {
		all["service.name"] = name
	}
	for name, value := range all {
		if !utf8.ValidString(name + value) {
			return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES or OTEL_SERVICE_NAME is not UTF-8")
		}
	}
	return all, nil
}

// tlsConfig has the authority of the receiver and the certificate of this sender; nil if neither is given.
func tlsConfig(env func(name string) string) (*tls.Config, error) {
	authority, certificate, key := spans.Setting(env, "CERTIFICATE"), spans.Setting(env, "CLIENT_CERTIFICATE"), spans.Setting(env, "CLIENT_KEY")
	if authority == "" && certificate == "" && key == "" {
		return nil, nil //nolint:nilnil // the default of net/http
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		pem, err := userdir.ReadFile(authority, maxPEM)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		if c.RootCAs = x509.NewCertPool(); !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %q has no certificate in PEM", authority)
		}
	}
	if certificate != "" || key != "" {
		pair, err := clientPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and _CLIENT_KEY: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// maxPEM is how much of a file is read, in bytes; the authorities of a system have some 200 KiB.
const maxPEM = 16 << 20

// clientPair reads a certificate and its key.
func clientPair(certificate, key string) (tls.Certificate, error) {
	if certificate == "" || key == "" {
		return tls.Certificate{}, errors.New("only one of them is given; give both")
	}
	certPEM, err := userdir.ReadFile(certificate, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyPEM, err := userdir.ReadFile(key, maxPEM)
	if err != nil {
		return tls.Certificate{}, err
	}
	return tls.X509KeyPair(certPEM, keyPEM)
}
