package blob_test

import (
	"os"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

func TestConformance(t *testing.T) {
	blobtest.Run(t, func(t testing.TB) blobtest.Fixture {
		dir := t.TempDir() + "/blobs"
		open := func(t testing.TB) *blob.Store {
			s, err := blob.Open(dir)
			blobtest.Must(t, err)
			return s
		}
		s := open(t)
		path := func(t testing.TB, sha256 string) string {
			path, err := s.Path(sha256)
			blobtest.Must(t, err)
			return path
		}
		return blobtest.Fixture{
			Store: s, Another: open,
			Damage: func(t testing.TB, sha256, content string) {
				blobtest.Must(t, os.Remove(path(t, sha256)))
				blobtest.Must(t, os.WriteFile(path(t, sha256), []byte(content), 0o444))
			},
			Age: func(t testing.TB, sha256 string, age time.Duration) {
				then := time.Now().Add(-age)
				blobtest.Must(t, os.Chtimes(path(t, sha256), then, then))
			},
		}
	})
}
