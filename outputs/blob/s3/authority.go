package s3

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"os"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
)

// maxAuthorities is how much of a file of certificates is read, in bytes; those of a system have some 200 KiB.
const maxAuthorities = 16 << 20

// authorities are those of the file that AWS_CA_BUNDLE or the profile's ca_bundle names, instead of the system's, as
// for AWS' own tools; nil: the system's.
func authorities(profile func(key string) string) (*x509.CertPool, error) {
	path := cmp.Or(os.Getenv("AWS_CA_BUNDLE"), profile("ca_bundle"))
	if path == "" {
		return nil, nil
	}
	data, err := userdir.ReadFile(path, maxAuthorities)
	if err != nil {
		return nil, fmt.Errorf("read the authorities that AWS_CA_BUNDLE or ca_bundle names: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(data) {
		return nil, fmt.Errorf("%q, which AWS_CA_BUNDLE or ca_bundle names, has no certificate in PEM", path)
	}
	return pool, nil
}
