package s3

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// namesMost bounds how many names of a certificate an error shows.
const namesMost = 5

// insecure says why a host is not trusted, and what to do; "": there is another cause. No later try helps.
func insecure(host string, err error) string {
	if errors.Is(err, http.ErrSchemeMismatch) {
		return fmt.Sprintf("%s does not use TLS; write http:// in the endpoint, if the network may be trusted", host)
	}
	var failed *tls.CertificateVerificationError
	if !errors.As(err, &failed) || len(failed.UnverifiedCertificates) == 0 {
		return ""
	}
	return refusedCertificate(host, failed.UnverifiedCertificates[0], failed.Err)
}

// wantsTLS recognises the answer to plain HTTP of a server with TLS; "": it is another one. Go and nginx name HTTPS.
func (b *Bucket) wantsTLS(answer minio.ErrorResponse) string {
	if to := b.client.EndpointURL(); to.Scheme == "http" && answer.StatusCode == http.StatusBadRequest && strings.Contains(answer.Message, "HTTPS") {
		return to.Host + " wants TLS; write https:// in the endpoint"
	}
	return ""
}

func refusedCertificate(host string, leaf *x509.Certificate, err error) string {
	var unknown x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var another x509.HostnameError
	switch {
	case errors.As(err, &unknown):
		return fmt.Sprintf("no known authority has signed the certificate %q of %s, which is by %q; name the file of its authority in AWS_CA_BUNDLE", leaf.Subject, host, leaf.Issuer)
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate %q of %s is valid only from %s to %s; renew it, or set the clock of this host", invalid.Cert.Subject, host, day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	case errors.As(err, &another):
		return fmt.Sprintf("the certificate of %s is for %s; correct the endpoint, or give the server a certificate for its name", host, namesOf(leaf))
	}
	return fmt.Sprintf("the certificate %q of %s is not trusted: %v", leaf.Subject, host, err)
}

func day(t time.Time) string { return t.UTC().Format(time.DateTime) }

func namesOf(c *x509.Certificate) string {
	names := append([]string{}, c.DNSNames...)
	for _, ip := range c.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return fmt.Sprintf("%q", c.Subject)
	}
	return fmt.Sprintf("%q", strings.Join(names[:min(len(names), namesMost)], ", "))
}
