package s3

import (
	"os"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

func TestParseLocation(t *testing.T) {
	for in, want := range map[string]Location{
		"s3://bucket":     {Bucket: "bucket"},
		"s3://bucket/":    {Bucket: "bucket"},
		"s3://bucket/a/b": {Bucket: "bucket", Prefix: "a/b"},
		"s3://bucket/a b%20+é/?endpoint=https://host:9000&region=eu-west-1": {
			Bucket: "bucket", Prefix: "a b%20+é", Endpoint: "https://host:9000", Region: "eu-west-1",
		},
	} {
		if got, err := ParseLocation(in); err != nil || got != want {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"https://bucket":                          "give s3://",
		"s3://":                                   "no name of a bucket",
		"s3://Bad_Name":                           "no name of a bucket",
		"s3://key:s3cr3t@bucket/a":                "holds no credentials",
		"s3://key:s3cr3t/bucket":                  "holds no credentials",
		"s3://key:s3cr3t/x@bucket":                "holds no credentials",
		"s3://key:s3cr3t":                         "holds no credentials",
		"s3://S3cr3t":                             "no name of a bucket",
		"s3://bucket/a//b":                        "no name",
		"s3://bucket/../b":                        "no name",
		"s3://bucket/a\nb":                        "control characters",
		"s3://bucket/\xff":                        "UTF-8",
		"s3://bucket/" + strings.Repeat("a", 901): "900 bytes",
		"s3://bucket?secret=x":                    "not known",
		"s3://bucket?endpoint=host:9000":          "http://HOST",
		"s3://bucket?endpoint=http://u:s3cr3t@h":  "without a user",
		"s3://bucket?endpoint=http://h/path":      "without a user, path",
	} {
		if _, err := ParseLocation(in); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(strings.ToLower(err.Error()), "s3cr3t") {
			t.Errorf("%q: %v; want %q", in, err, want)
		}
	}
}

// The environment wins over the shared files, and the URL over both.
func TestConfig(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		blobtest.Must(t, os.WriteFile(dir+"/"+name, []byte(text), 0o600))
		return dir + "/" + name
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ENDPOINT_URL_S3", "")
	t.Setenv("AWS_REGION", "")
	if _, err := configFor(Location{}); err == nil || !strings.Contains(err.Error(), "there are no credentials") {
		t.Errorf("%v", err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", write("credentials", "[default]\naws_access_key_id = a\naws_secret_access_key = b\n[other]\naws_access_key_id = c\naws_secret_access_key = d\n"))
	t.Setenv("AWS_CONFIG_FILE", write("config", "[default]\nregion = r1\n[profile other]\nregion = r2\nendpoint_url = http://h:1\n"))
	want := func(l Location, host, region, key string) {
		t.Helper()
		c, err := configFor(l)
		blobtest.Must(t, err)
		got, err := c.creds.GetWithContext(nil)
		blobtest.Must(t, err)
		if c.host != host || c.region != region || got.AccessKeyID != key {
			t.Errorf("%s, %s, %s; want %s, %s, %s", c.host, c.region, got.AccessKeyID, host, region, key)
		}
	}
	want(Location{}, "s3.r1.amazonaws.com", "r1", "a")
	t.Setenv("AWS_PROFILE", "other")
	want(Location{}, "h:1", "r2", "c")
	t.Setenv("AWS_ENDPOINT_URL", "https://h:2")
	t.Setenv("AWS_DEFAULT_REGION", "r3")
	want(Location{}, "h:2", "r3", "c")
	t.Setenv("AWS_ENDPOINT_URL_S3", "https://h:3")
	t.Setenv("AWS_REGION", "r4")
	want(Location{}, "h:3", "r4", "c")
	want(Location{Endpoint: "http://h:4", Region: "r5"}, "h:4", "r5", "c")
}
