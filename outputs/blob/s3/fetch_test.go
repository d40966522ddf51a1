package s3

import (
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// If two fetch a blob at once, the second one leaves the copy of the first: the first is about to open it.
func TestFetchAtOnce(t *testing.T) {
	bucket, dir := newBucket(t), t.TempDir()
	first, err := blob.OpenShared(dir, openBucket(t, "s3://"+bucket))
	blobtest.Must(t, err)
	sum := blobtest.Digest("content")
	blobtest.Put(t, first, "content")
	blobtest.Forget(t, first)
	var once sync.Once
	var copied os.FileInfo
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/sha256/") {
			once.Do(func() { // the second has found no copy
				f, err := first.Fetch(t.Context(), sum)
				blobtest.Must(t, err)
				copied, err = f.Stat()
				blobtest.Must(t, err)
				blobtest.Must(t, f.Close())
			})
		}
		return false
	})
	second, err := blob.OpenShared(dir, openBucket(t, "s3://"+bucket+"?endpoint="+endpoint))
	blobtest.Must(t, err)
	f, err := second.Fetch(t.Context(), sum)
	blobtest.Must(t, err)
	defer f.Close()
	if got, err := f.Stat(); err != nil || copied == nil || !os.SameFile(got, copied) {
		t.Errorf("the copy was exchanged: %v, %v", copied, err)
	}
}
