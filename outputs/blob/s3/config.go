package s3

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7/pkg/credentials"
	"gopkg.in/ini.v1"
)

// config is from the URL, then the environment and the shared files of AWS.
type config struct {
	host   string
	secure bool
	region string
	roots  *x509.CertPool // nil: the system's
	creds  *credentials.Credentials
}

// defaultRegion is accepted by servers without regions.
const defaultRegion = "us-east-1"

func configFor(l Location) (c config, err error) {
	profile, err := sharedProfile()
	if err != nil {
		return c, err
	}
	c.region = cmp.Or(l.Region, os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), profile("region"), defaultRegion)
	endpoint := cmp.Or(l.Endpoint, os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), profile("endpoint_url"))
	if endpoint == "" {
		endpoint = "https://s3." + c.region + ".amazonaws.com"
	}
	if c.host, c.secure, err = splitEndpoint(endpoint); err != nil {
		return c, err
	}
	if c.secure {
		if c.roots, err = authorities(profile); err != nil {
			return c, err
		}
	}
	c.creds, err = credentialsOf()
	return c, err
}

// sharedProfile reads the profile of the shared config file. A missing file has none.
func sharedProfile() (func(key string) string, error) {
	path := os.Getenv("AWS_CONFIG_FILE")
	if path == "" {
		path = filepath.Join(os.Getenv("HOME"), ".aws", "config")
	}
	file, err := ini.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return func(string) string { return "" }, nil
	}
	if err != nil { // its text is hidden: it may have secrets
		return nil, fmt.Errorf("%s: it cannot be read as a configuration of AWS", path)
	}
	name := cmp.Or(os.Getenv("AWS_PROFILE"), "default")
	for _, section := range []string{"profile " + name, name} {
		if file.HasSection(section) {
			return func(key string) string { return strings.TrimSpace(file.Section(section).Key(key).String()) }, nil
		}
	}
	return func(string) string { return "" }, nil
}
