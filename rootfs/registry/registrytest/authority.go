// Package registrytest runs Debian's docker-registry for tests, with TLS and authentication, makes images for it with
// umoci and skopeo, and a proxy that fails as registries and networks do.
package registrytest

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
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates for loopback until the end of the test.
type Authority struct {
	// File holds its certificate, for SSL_CERT_FILE; Dir is a directory for skopeo's --dest-cert-dir.
	File, Dir string
	cert      *x509.Certificate
	key       *ecdsa.PrivateKey
}

// NewAuthority makes a certificate authority for the test.
func NewAuthority(t testing.TB) *Authority {
	t.Helper()
	a, err := MakeAuthority(t.TempDir())
	try(t, err)
	return a
}

// MakeAuthority makes a certificate authority whose file lies in dir.
func MakeAuthority(dir string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &Authority{Dir: dir, File: filepath.Join(dir, "ca.crt"), key: key}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "scidex-oci test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(a.File, "CERTIFICATE", der)
}

// Pool holds only the authority.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Certificate makes the files of a server's certificate, as Sign does, and its key.
func (a *Authority) Certificate(t testing.TB, change ...func(*x509.Certificate)) (certFile, keyFile string) {
	t.Helper()
	dir := t.TempDir()
	certFile, keyFile = filepath.Join(dir, "server.pem"), filepath.Join(dir, "server.key")
	a.Sign(t, certFile, keyFile, change...)
	return certFile, keyFile
}

// Sign writes a certificate for loopback, and for a client, and its key. Each change makes it another one.
func (a *Authority) Sign(t testing.TB, certFile, keyFile string, change ...func(*x509.Certificate)) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	try(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, each := range change {
		each(template)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	try(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	try(t, err)
	try(t, writePEM(certFile, "CERTIFICATE", der), writePEM(keyFile, "PRIVATE KEY", private))
}

func (a *Authority) config(t testing.TB) *tls.Config {
	t.Helper()
	pair, err := tls.LoadX509KeyPair(a.Certificate(t))
	try(t, err)
	return &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
}

func writePEM(path, kind string, der []byte) error {
	return os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}

func try(t testing.TB, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
