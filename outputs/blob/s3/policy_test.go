package s3

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// statement is one of a bucket policy.
type statement struct {
	Effect, Principal, Resource string
	Action                      []string
}

// documented is the policy of docs/s3.md without an action, for an account that has no other rights.
func documented(t *testing.T, bucket, without string) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/s3.md")
	blobtest.Must(t, err)
	text := regexp.MustCompile("(?s)```json\n(.*?)```").FindSubmatch(page)[1]
	var policy struct {
		Version   string
		Statement []*statement
	}
	blobtest.Must(t, json.Unmarshal(text, &policy))
	for _, s := range policy.Statement {
		s.Principal = "limited"
		s.Resource = strings.Replace(s.Resource, ":::bucket", ":::"+bucket, 1)
		s.Action = slices.DeleteFunc(s.Action, func(action string) bool { return action == without })
	}
	out, err := json.Marshal(policy)
	blobtest.Must(t, err)
	return string(out)
}

// TestPolicy: the documented policy is enough for all that is done to a bucket, and each action of it is needed.
func TestPolicy(t *testing.T) {
	for without, refused := range map[string]string{
		"": "", "s3:GetObject": "put read remove", "s3:PutObject": "put remove", "s3:DeleteObject": "remove clean", "s3:ListBucket": "put list clean",
		"s3:AbortMultipartUpload": "clean", "s3:ListBucketMultipartUploads": "clean",
	} {
		t.Run(without, func(t *testing.T) {
			bucket := newBucket(t)
			url := "s3://" + bucket + "/team-a"
			admin := openBucket(t, url)
			blobtest.Put(t, open(t, url), "there", "old")
			age(t, object(bucket, "team-a/sha256/"+blobtest.Digest("old")), 48*time.Hour)
			_, err := admin.client.NewMultipartUpload(t.Context(), bucket, admin.blobKey(blobtest.Digest("x")), minio.PutObjectOptions{})
			blobtest.Must(t, err)
			blobtest.Must(t, admin.client.SetBucketPolicy(t.Context(), bucket, documented(t, bucket, without)))
			t.Setenv("AWS_ACCESS_KEY_ID", "limited")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "limited-secret")
			for what, err := range everything(t, open(t, url)) {
				if wrong := err != nil; wrong != slices.Contains(strings.Fields(refused), what) || wrong && !strings.Contains(err.Error(), "grant s3:GetObject") {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}

// everything is what commands do to a bucket.
func everything(t *testing.T, s *blob.Store) map[string]error {
	t.Helper()
	all := map[string]error{"put": keep(t, s, "content", large), "read": s.Verify(t.Context(), blobtest.Digest("there"))}
	all["list"] = s.Walk(t.Context(), nil, func(cas.Found) bool { return true })
	_, all["remove"] = s.Remove(t.Context(), []cas.Found{{SHA256: blobtest.Digest("old")}}, time.Now().Add(-24*time.Hour))
	_, all["clean"] = s.CleanUploads(t.Context(), later(), false)
	return all
}
