package s3

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// framing is a server that keeps objects with something around their contents.
type framing struct {
	mu      sync.Mutex
	objects map[string]string
}

func (f *framing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, there := f.objects[r.URL.Path]
	switch {
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body) // what is short is short
		f.objects[r.URL.Path] = fmt.Sprintf("%x;chunk-signature=0\r\n%s\r\n0\r\n", len(body), body)
		w.Header().Set("ETag", `"e"`)
	case r.Method == http.MethodDelete:
		delete(f.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case !there:
		refuse(w, http.StatusNotFound, "NoSuchKey")
	default:
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, content)
	}
}

// TestCatalogIDIsReadBack: a server that stores something else than it gets is refused at the first object, which is removed.
func TestCatalogIDIsReadBack(t *testing.T) {
	for name, set := range map[string]func(b *Bucket) error{
		"set":    func(b *Bucket) error { return b.SetCatalogID(t.Context(), "one") },
		"change": func(b *Bucket) error { return b.ChangeCatalogID(t.Context(), "one") },
	} {
		t.Run(name, func(t *testing.T) {
			f := &framing{objects: map[string]string{}}
			s := httptest.NewServer(f)
			defer s.Close()
			err := set(openBucket(t, "s3://bucket/some?endpoint="+s.URL))
			if err == nil || !strings.Contains(err.Error(), "does not keep what is put") {
				t.Errorf("%v", err)
			}
			f.mu.Lock()
			defer f.mu.Unlock()
			if len(f.objects) > 0 {
				t.Errorf("left behind: %q", f.objects)
			}
		})
	}
}

// TestLongObjectsAreRefused: of a small object that is too long, the beginning is not used.
func TestLongObjectsAreRefused(t *testing.T) {
	for name, size := range map[string]int{idName: smallMost + 1, sweepBelow + openBelow + "x": smallMost + 1, "as long as may be": smallMost} {
		f := &framing{objects: map[string]string{"/bucket/some/" + name: strings.Repeat("0", size)}}
		s := httptest.NewServer(f)
		defer s.Close()
		b := openBucket(t, "s3://bucket/some?endpoint="+s.URL)
		content, err := b.read(t.Context(), name)
		if size <= smallMost && (err != nil || len(content) != size) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
		if size > smallMost && (err == nil || !strings.Contains(err.Error(), name+": it has more than 1MiB")) {
			t.Errorf("%s: %d bytes, %v", name, len(content), err)
		}
	}
}

// TestBodyIsSentWhole: a server is sent only the content, signed by its digest, also over plain HTTP and of an empty blob.
func TestBodyIsSentWhole(t *testing.T) {
	var puts []string // one after the other
	endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.Method == http.MethodPut {
			puts = append(puts, fmt.Sprint(r.Header.Get("X-Amz-Content-Sha256"), " ", r.Header.Get("Content-Encoding"), " ", r.ContentLength))
		}
		return false
	})
	b := openBucket(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
	var want []string
	for _, content := range []string{"", "content"} {
		sum, size := blobtest.Digest(content), int64(len(content))
		whole := fmt.Sprint(sum, "  ", size)
		blobtest.Must(t, b.put(t.Context(), sum, file(t, content), size))
		want = append(want, whole)
		blobtest.Must(t, b.write(t.Context(), "object", []byte(content), minio.PutObjectOptions{}))
		want = append(want, whole)
		if size > 0 {
			blobtest.Must(t, b.putParts(t.Context(), sum, file(t, content), size))
			want = append(want, whole)
		}
	}
	if !slices.Equal(puts, want) {
		t.Errorf("the requests were %q, want %q", puts, want)
	}
}
