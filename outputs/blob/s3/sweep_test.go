package s3

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// An open removal holds up hosts that rely on its blobs, until it counts as dead.
func TestOpenRemoval(t *testing.T) {
	bucket := newBucket(t)
	b, s := openBucket(t, "s3://"+bucket), open(t, "s3://"+bucket)
	name := sweepBelow + openBelow + "x"
	blobtest.Must(t, b.write(t.Context(), name, []byte(strings.Join(blobtest.Digests("b", "a", "c"), "\n")), minio.PutObjectOptions{}))
	blobtest.Must(t, keep(t, s, "other"))
	for _, content := range []string{"a", "b", "c"} {
		if err := keep(t, s, "other", content); !errors.Is(err, blob.ErrTransient) {
			t.Errorf("%s: %v", content, err)
		}
	}
	age(t, object(bucket, name), deadAfter+time.Minute)
	blobtest.Must(t, keep(t, s, "a", "b", "c"))
}

// A removal whose record vanishes before it is read has ended and may have removed any blob: Keep checks all again.
func TestRemovalEndsWhileItIsRead(t *testing.T) {
	bucket := newBucket(t)
	b := openBucket(t, "s3://"+bucket)
	sum, name := blobtest.Digest("content"), sweepBelow+openBelow+"x"
	blobtest.Must(t, b.write(t.Context(), name, []byte(sum+"\n"), minio.PutObjectOptions{}))
	var once sync.Once
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, name) {
			once.Do(func() {
				blobtest.Must(t, errors.Join(b.remove(t.Context(), blobsBelow+sum),
					b.write(t.Context(), sweepBelow+lastName, []byte("another"), minio.PutObjectOptions{}), b.remove(t.Context(), name)))
			})
		}
		return false
	})
	s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
	if err := keep(t, s, "content"); !errors.Is(err, blob.ErrTransient) {
		t.Errorf("the blob was removed meanwhile: %v", err)
	}
	blobtest.Must(t, keep(t, s, "content"))
	if _, err := b.stat(t.Context(), sum); err != nil {
		t.Errorf("what was vouched for is gone: %v", err)
	}
}

// A removal that has checked a blob before it was put again, and removes it afterwards, is noticed: also if it begins
// and ends while blobs are put.
func TestRemovalWhileBlobsArePut(t *testing.T) {
	bucket := newBucket(t)
	b := openBucket(t, "s3://"+bucket)
	sum := blobtest.Digest("content")
	var once sync.Once
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, "prefix=gc") {
			if has, err := b.stat(t.Context(), sum); err == nil && has.Size > 0 { // it is put, and looked for removals now
				once.Do(func() {
					blobtest.Must(t, errors.Join(b.remove(t.Context(), blobsBelow+sum),
						b.write(t.Context(), sweepBelow+lastName, []byte("another"), minio.PutObjectOptions{})))
				})
			}
		}
		return false
	})
	s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
	blobtest.Must(t, keep(t, s, "content"))
	if _, err := b.stat(t.Context(), sum); err != nil {
		t.Errorf("what was vouched for is gone: %v", err)
	}
}

// A removal that is alive when Keep begins, removes what Keep has put, and is then killed, does not count as dead
// because Keep takes so long.
func TestRemovalKilledWhileBlobsArePut(t *testing.T) {
	bucket := newBucket(t)
	b := openBucket(t, "s3://"+bucket)
	sum := blobtest.Digest("content")
	name := sweepBelow + openBelow + "x"
	blobtest.Must(t, b.write(t.Context(), name, []byte(sum), minio.PutObjectOptions{}))
	looks := 0
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			time.Sleep(4 * time.Second)
		}
		if r.Method != http.MethodGet || !strings.Contains(r.URL.RawQuery, "prefix=gc") {
			return false
		}
		switch looks++; looks {
		case 1:
			age(t, object(bucket, name), deadAfter-2*time.Second)
		case 2:
			blobtest.Must(t, b.remove(t.Context(), blobsBelow+sum))
		}
		return false
	})
	s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
	if err := keep(t, s, "content"); !errors.Is(err, blob.ErrTransient) || looks != 2 {
		t.Errorf("%v, after %d looks; want ErrTransient: the blob is gone", err, looks)
	}
}

// An old blob is made young, small or large, with a local file of it or without.
func TestOldBlobsAreMadeYoung(t *testing.T) {
	bucket := newBucket(t)
	s := open(t, "s3://"+bucket)
	small, large := "small", strings.Repeat("large", smallBlob)
	for _, here := range []bool{true, false} {
		i := blobtest.Publish(t, s, small, large)
		blobtest.Must(t, s.Keep(t.Context(), blobtest.Digests(small, large), func() {}))
		for _, sum := range blobtest.Digests(small, large) {
			age(t, object(bucket, "sha256/"+sum), 48*time.Hour)
		}
		if !here {
			blobtest.Must(t, i.Close())
			blobtest.Forget(t, s)
		}
		blobtest.Must(t, s.Keep(t.Context(), blobtest.Digests(small, large), func() {}))
		blobtest.Must(t, s.Walk(t.Context(), nil, func(f cas.Found) bool {
			if old := time.Since(f.Modified); old > young {
				t.Errorf("here %v: %d bytes are %v old", here, f.Size, old)
			}
			return true
		}))
		if here {
			blobtest.Must(t, i.Close())
		}
		for _, sum := range blobtest.Digests(small, large) {
			blobtest.Must(t, s.Verify(t.Context(), sum))
		}
	}
}

// A young blob that is large is not sent again.
func TestYoungBlobsAreNotSentAgain(t *testing.T) {
	puts := 0
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if isPut(r) {
			puts++
		}
		return false
	})
	s := open(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
	for range 3 {
		blobtest.Must(t, keep(t, s, strings.Repeat("large", smallBlob)))
	}
	if puts != 1 {
		t.Errorf("it was put %d times", puts)
	}
}

// TestDamagedObjectIsReplaced: a young object of the right size but of another content is put again.
func TestDamagedObjectIsReplaced(t *testing.T) {
	content := strings.Repeat("large", smallBlob)
	damaged := "L" + content[1:]
	for name, sum := range map[string]string{"with a checksum": blobtest.Digest(damaged), "without": ""} {
		t.Run(name, func(t *testing.T) {
			url := "s3://" + newBucket(t)
			s, b := open(t, url), openBucket(t, url)
			blobtest.Must(t, keep(t, s, content))
			_, err := b.client.PutObject(t.Context(), b.Bucket, b.blobKey(blobtest.Digest(content)), strings.NewReader(damaged), int64(len(damaged)), "", sum, otherOptions(sum))
			blobtest.Must(t, err)
			if err := s.Verify(t.Context(), blobtest.Digest(content)); !errors.Is(err, cas.ErrCorrupt) {
				t.Fatalf("before: %v; want ErrCorrupt", err)
			}
			blobtest.Must(t, keep(t, s, content))
			blobtest.Must(t, s.Verify(t.Context(), blobtest.Digest(content)))
		})
	}
}

// otherOptions are those of a client that has the server keep this checksum; "": none.
func otherOptions(sum string) minio.PutObjectOptions {
	if sum == "" {
		return minio.PutObjectOptions{}
	}
	raw, _ := hex.DecodeString(sum) // it is one of this test's
	return wholeBody(minio.PutObjectOptions{UserMetadata: map[string]string{checksumHeader: base64.StdEncoding.EncodeToString(raw)}})
}
