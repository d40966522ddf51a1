package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
	"github.com/scidex-ai/scidex-oci/rootfs/registry/registrytest"
)

// overTLS is a proxy before the server, with a certificate of an authority.
func overTLS(t *testing.T, by *registrytest.Authority, change ...func(*x509.Certificate)) (endpoint string) {
	t.Helper()
	shown, err := tls.LoadX509KeyPair(by.Certificate(t, change...))
	blobtest.Must(t, err)
	s := httptest.NewUnstartedServer(passTo(t, theServer.Endpoint))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

// TestTLS: a private authority is trusted if the variables of AWS' own tools, or of Go, name it.
func TestTLS(t *testing.T) {
	ours := registrytest.NewAuthority(t)
	endpoint := overTLS(t, ours)
	profile := t.TempDir() + "/config"
	blobtest.Must(t, os.WriteFile(profile, []byte("[default]\nca_bundle = "+ours.File+"\n"), 0o600))
	for name, value := range map[string]string{"AWS_CA_BUNDLE": ours.File, "AWS_CONFIG_FILE": profile} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_CA_BUNDLE", "")
			t.Setenv(name, value)
			s := open(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
			large := strings.Repeat("0123456789abcdef", (partSize+1<<20)/16)
			blobtest.Must(t, keep(t, s, "", "content", large))
			blobtest.Forget(t, s)
			for _, sum := range blobtest.Digests("", "content", large) {
				blobtest.Must(t, s.Verify(t.Context(), sum))
			}
		})
	}
}

// TestCertificates: each certificate that is not trusted is refused at once with its reason, and nothing is sent.
func TestCertificates(t *testing.T) {
	ours, other := registrytest.NewAuthority(t), registrytest.NewAuthority(t)
	for name, tc := range map[string]struct {
		by     *registrytest.Authority
		change func(*x509.Certificate)
		want   string
	}{
		"another authority": {other, func(*x509.Certificate) {}, `signed the certificate "CN=localhost" of HOST, which is by "CN=scidex-oci test"; name the file of its authority in AWS_CA_BUNDLE`},
		"expired":           {ours, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }, `the certificate "CN=localhost" of HOST is valid only from`},
		"not valid yet":     {ours, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }, "or set the clock of this host"},
		"another name":      {ours, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"store.example"} }, `of HOST is for "store.example"; correct the endpoint`},
		"another use":       {ours, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }, `the certificate "CN=localhost" of HOST is not trusted`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_CA_BUNDLE", ours.File)
			bucket := newBucket(t)
			endpoint := overTLS(t, tc.by, tc.change)
			s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
			want := strings.ReplaceAll(tc.want, "HOST", strings.TrimPrefix(endpoint, "https://"))
			if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, blob.ErrTransient) {
				t.Errorf("%v; want %s", err, want)
			}
			if left, err := os.ReadDir(object(bucket, "")); err != nil || len(left) > 0 {
				t.Errorf("%v were put, %v", left, err)
			}
		})
	}
}

// TestSchemes: TLS to a server without it, and plain HTTP to a server with TLS.
func TestSchemes(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "")
	plain := strings.TrimPrefix(theServer.Endpoint, "http://")
	s := open(t, "s3://"+newBucket(t)+"?endpoint=https://"+plain)
	if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), plain+" does not use TLS") || errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v", err)
	}
	secure := strings.TrimPrefix(overTLS(t, registrytest.NewAuthority(t)), "https://")
	s = open(t, "s3://"+newBucket(t)+"?endpoint=http://"+secure)
	if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), "wants TLS; write https:// in the endpoint") || errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v", err)
	}
}

// TestBadAuthorities: a named file that cannot be used is an error before anything is sent.
func TestBadAuthorities(t *testing.T) {
	none := t.TempDir() + "/none"
	empty := file(t, "no certificate").Name()
	for path, want := range map[string]string{none: "no such file", empty: "has no certificate in PEM"} {
		t.Setenv("AWS_CA_BUNDLE", path)
		if _, err := Open(Location{Bucket: "bucket", Endpoint: "https://127.0.0.1:1"}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%v; want %s", err, want)
		}
	}
}

// TestLargeAuthorities: certificates beyond the bound are not dropped silently.
func TestLargeAuthorities(t *testing.T) {
	path := filepath.Join(t.TempDir(), "large.pem")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CA_BUNDLE", path)
	for size, want := range map[int64]string{maxAuthorities: "no certificate in PEM", maxAuthorities + 1: "more than 16MiB"} {
		if err := os.Truncate(path, size); err != nil {
			t.Fatal(err)
		}
		if _, err := authorities(func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%d bytes: %v, want %q", size, err, want)
		}
	}
}
