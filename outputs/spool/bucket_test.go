package spool

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/s3"
)

// bucket is a bucket of a real S3 server, which ends with the test.
func bucket(t *testing.T) *s3.Bucket {
	t.Helper()
	cmd := exec.Command("../../scripts/s3")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		stdin.Close()
		must(t, cmd.Wait())
	})
	var server struct {
		Endpoint  string `json:"endpoint"`
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
		Dir       string `json:"dir"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	must(t, err)
	must(t, json.Unmarshal(line, &server))
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	must(t, os.Mkdir(filepath.Join(server.Dir, "bucket"), 0o755))
	at, err := s3.ParseLocation("s3://bucket?endpoint=" + server.Endpoint)
	must(t, err)
	b, err := s3.Open(at)
	must(t, err)
	return b
}

// If blobs are kept in a bucket, they are there before a row names them, and not only on this host.
func TestCommitIntoABucket(t *testing.T) {
	s, kept := fill(t), bucket(t)
	must(t, s.Deliver(t.Context(), 1, node(t, "there"), theKey))
	to := fresh(t)
	var err error
	to.Blobs, err = blob.OpenShared(t.TempDir(), kept)
	must(t, err)
	commit(t, s, 1, theKey, to)
	elsewhere, err := blob.OpenShared(t.TempDir(), kept)
	must(t, err)
	for _, text := range []string{"output", "log"} {
		if there, err := elsewhere.Has(t.Context(), digest(text)); !there || err != nil {
			t.Errorf("the bucket has the %s: %v, %v", text, there, err)
		}
	}
}
