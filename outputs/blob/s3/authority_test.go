package s3

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// anAuthority issues certificates for tests.
type anAuthority struct {
	file string // its certificate
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T, name string) anAuthority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	blobtest.Must(t, err)
	template.Raw = der
	file := t.TempDir() + "/authority.pem"
	blobtest.Must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	return anAuthority{file, template, key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	blobtest.Must(t, err)
	return key
}

// leaf is a certificate of a server at 127.0.0.1, unless change makes it another.
func (a anAuthority) leaf(t *testing.T, change func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "store"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(template)
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	blobtest.Must(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// overTLS stands before the server, and shows a certificate.
func overTLS(t *testing.T, shown tls.Certificate) (endpoint string) {
	t.Helper()
	s := httptest.NewUnstartedServer(passTo(t, theServer.Endpoint))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{shown}, MinVersion: tls.VersionTLS12}
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}

func same(*x509.Certificate) {}

// TestTLS: a private authority is trusted where AWS' own tools are told of it, or Go.
func TestTLS(t *testing.T) {
	ours := newAuthority(t, "ours")
	endpoint := overTLS(t, ours.leaf(t, same))
	profile := t.TempDir() + "/config"
	blobtest.Must(t, os.WriteFile(profile, []byte("[default]\nca_bundle = "+ours.file+"\n"), 0o600))
	for name, value := range map[string]string{"AWS_CA_BUNDLE": ours.file, "AWS_CONFIG_FILE": profile} {
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
	ours, other := newAuthority(t, "ours"), newAuthority(t, "other")
	for name, tc := range map[string]struct {
		shown tls.Certificate
		want  string
	}{
		"another authority": {other.leaf(t, same), `signed the certificate "CN=store" of HOST, which is by "CN=other"; name the file of its authority in AWS_CA_BUNDLE`},
		"expired":           {ours.leaf(t, func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }), `the certificate "CN=store" of HOST is valid from`},
		"not valid yet":     {ours.leaf(t, func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }), "or set the clock of this host"},
		"another name":      {ours.leaf(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"store.example"} }), `of HOST is for "store.example"; correct the endpoint`},
		"another use":       {ours.leaf(t, func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} }), `the certificate "CN=store" of HOST is not trusted`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("AWS_CA_BUNDLE", ours.file)
			bucket := newBucket(t)
			endpoint := overTLS(t, tc.shown)
			s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
			want := strings.ReplaceAll(tc.want, "HOST", strings.TrimPrefix(endpoint, "https://"))
			if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, blob.ErrPasses) {
				t.Errorf("%v; want %s", err, want)
			}
			if left, err := os.ReadDir(object(bucket, "")); err != nil || len(left) > 0 {
				t.Errorf("%v were put, %v", left, err)
			}
		})
	}
}

// TestSchemes: TLS to a server without, and none to one with TLS.
func TestSchemes(t *testing.T) {
	t.Setenv("AWS_CA_BUNDLE", "")
	plain := strings.TrimPrefix(theServer.Endpoint, "http://")
	s := open(t, "s3://"+newBucket(t)+"?endpoint=https://"+plain)
	if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), plain+" does not use TLS") || errors.Is(err, blob.ErrPasses) {
		t.Errorf("%v", err)
	}
	secure := strings.TrimPrefix(overTLS(t, newAuthority(t, "ours").leaf(t, same)), "https://")
	s = open(t, "s3://"+newBucket(t)+"?endpoint=http://"+secure)
	if err := keep(t, s, "content"); err == nil || !strings.Contains(err.Error(), "wants TLS; write https:// in the endpoint") || errors.Is(err, blob.ErrPasses) {
		t.Errorf("%v", err)
	}
}

// TestBadAuthorities: a file that is named and cannot be used is said before anything is sent.
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
