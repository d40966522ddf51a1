package s3

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// server is a real S3 server: what scripts/s3 prints.
type server struct {
	Endpoint  string `json:"endpoint"`
	AccessKey string `json:"access_key"`
	SecretKey string `json:"secret_key"`
	Region    string `json:"region"`
	Dir       string `json:"dir"`
}

// theServer is that of all tests of this process; every test has a bucket of its own.
var theServer server

var buckets atomic.Int64

func TestMain(m *testing.M) {
	code, err := withServer(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "start an S3 server:", err)
		code = 1
	}
	os.Exit(code)
}

// withServer starts the server, which ends with its standard input.
func withServer(run func() int) (code int, err error) {
	cmd := exec.Command("../../../scripts/s3")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return 0, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &theServer)
	}
	if err != nil {
		return 0, err
	}
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": theServer.AccessKey, "AWS_SECRET_ACCESS_KEY": theServer.SecretKey, "AWS_REGION": theServer.Region,
		"AWS_CONFIG_FILE": "/nonexistent", "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
		"AWS_ENDPOINT_URL_S3": theServer.Endpoint,
	} {
		if err := os.Setenv(name, value); err != nil {
			return 0, err
		}
	}
	code = run()
	if err := stdin.Close(); err != nil {
		return code, err
	}
	return code, cmd.Wait()
}

// newBucket makes a bucket: a directory of the server's.
func newBucket(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("bucket-%d", buckets.Add(1))
	blobtest.Must(t, os.Mkdir(filepath.Join(theServer.Dir, name), 0o755))
	return name
}

// open opens a store as one host does.
func open(t testing.TB, url string) *blob.Store {
	t.Helper()
	s, err := blob.OpenShared(t.TempDir(), openBucket(t, url))
	blobtest.Must(t, err)
	return s
}

func openBucket(t testing.TB, url string) *Bucket {
	t.Helper()
	l, err := ParseLocation(url)
	blobtest.Must(t, err)
	b, err := Open(l)
	blobtest.Must(t, err)
	return b
}

// object is the file of an object.
func object(bucket, key string) string { return filepath.Join(theServer.Dir, bucket, key) }

func age(t testing.TB, path string, age time.Duration) {
	t.Helper()
	then := time.Now().Add(-age)
	blobtest.Must(t, os.Chtimes(path, then, then))
}

func TestConformance(t *testing.T) {
	for _, prefix := range []string{"", "/one/a b+c%20é&=#~'\"*"} {
		t.Run(prefix, func(t *testing.T) {
			blobtest.Run(t, func(t testing.TB) blobtest.Fixture {
				bucket := newBucket(t)
				url := "s3://" + bucket + prefix
				path := func(sha256 string) string { return object(bucket, prefix+"/sha256/"+sha256) }
				return blobtest.Fixture{
					Store:   open(t, url),
					Another: func(t testing.TB) *blob.Store { return open(t, url) },
					Damage: func(t testing.TB, sha256, content string) {
						blobtest.Must(t, os.WriteFile(path(sha256), []byte(content), 0o644))
					},
					Age: func(t testing.TB, sha256 string, by time.Duration) { age(t, path(sha256), by) },
				}
			})
		})
	}
}
