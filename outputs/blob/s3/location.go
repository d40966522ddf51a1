package s3

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// prefixMost leaves room for the longest name below a prefix: a key has at most 1,024 bytes.
const prefixMost = 900

// Location is a parsed s3://BUCKET/PREFIX?endpoint=URL&region=NAME. The prefix is taken literally, without percent-decoding,
// as other tools do.
type Location struct {
	Bucket   string
	Prefix   string // without outer slashes; "" for none
	Endpoint string // "": from the environment and the shared files
	Region   string // the same
}

// ParseLocation parses a URL. Its errors show no part that may be secret.
func ParseLocation(text string) (l Location, err error) {
	rest, ok := strings.CutPrefix(text, "s3://")
	if !ok {
		return l, errors.New("give s3://BUCKET/PREFIX")
	}
	rest, query, _ := strings.Cut(rest, "?")
	l.Bucket, l.Prefix, _ = strings.Cut(rest, "/")
	if strings.ContainsAny(l.Bucket, "@:") { // if a secret has a slash the @ may be far behind
		return Location{}, errors.New("a URL of S3 holds no credentials: give them as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or in a profile")
	}
	if err := s3utils.CheckValidBucketNameStrict(l.Bucket); err != nil {
		return Location{}, fmt.Errorf("what follows s3:// is no name of a bucket: %w", err)
	}
	l.Prefix = strings.TrimSuffix(l.Prefix, "/")
	if err := checkPrefix(l.Prefix); err != nil {
		return Location{}, err
	}
	return l, l.readQuery(query)
}

// readQuery reads endpoint and region.
func (l *Location) readQuery(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("what follows ? is no list of KEY=VALUE")
	}
	for key := range values {
		switch key {
		case "endpoint":
			l.Endpoint = values.Get(key)
		case "region":
			l.Region = values.Get(key)
		default:
			return fmt.Errorf("%q is not known after ?: give endpoint=URL or region=NAME", key)
		}
	}
	if l.Endpoint == "" {
		return nil
	}
	_, _, err = splitEndpoint(l.Endpoint)
	return err
}

// checkPrefix refuses prefixes that servers rewrite or that cannot be typed.
func checkPrefix(prefix string) error {
	if len(prefix) > prefixMost || !utf8.ValidString(prefix) || strings.ContainsFunc(prefix, unicode.IsControl) {
		return fmt.Errorf("the prefix has to be UTF-8 of at most %d bytes without control characters", prefixMost)
	}
	if prefix == "" {
		return nil
	}
	for part := range strings.SplitSeq(prefix, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the prefix %q has a part %q, which is no name", prefix, part)
		}
	}
	return nil
}

// splitEndpoint reads http://HOST[:PORT] or https://HOST[:PORT].
func splitEndpoint(endpoint string) (host string, secure bool, err error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || u.Path != "" && u.Path != "/" {
		return "", false, errors.New("the endpoint of S3 has to be http://HOST[:PORT] or https://HOST[:PORT], without a user, path or query")
	}
	return u.Host, u.Scheme == "https", nil
}

// String is the URL without its query.
func (l Location) String() string {
	if l.Prefix == "" {
		return "s3://" + l.Bucket
	}
	return "s3://" + l.Bucket + "/" + l.Prefix
}

// key is the key of a name below the prefix.
func (l Location) key(name string) string {
	if l.Prefix == "" {
		return name
	}
	return l.Prefix + "/" + name
}
