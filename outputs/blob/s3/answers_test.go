package s3

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// later is when everything that was started now counts as dead.
func later() time.Time { return time.Now().Add(time.Hour) }

// large is more than a part.
var large = strings.Repeat("0123456789abcdef", (partSize+1<<20)/16)

func isGet(r *http.Request) bool {
	return r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/sha256/")
}

func isPart(r *http.Request) bool { return isPut(r) && r.URL.Query().Has("partNumber") }

// seen is what a client without checks gets of a fault.
func seen(t *testing.T, url string) (content string, err error) {
	t.Helper()
	answer, err := http.Get(url)
	blobtest.Must(t, err)
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return string(all), err
}

// short writes an answer whose Content-Length is n, and closes the connection after some of the content.
func short(w http.ResponseWriter, n int, content string) bool {
	w.Header().Set("Content-Length", fmt.Sprint(n))
	w.Header().Set("Last-Modified", "Thu, 26 Nov 2026 00:00:00 GMT")
	w.Header().Set("ETag", `"e"`)
	_, _ = io.WriteString(w, content)
	if len(content) < n {
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	return true
}

// after writes an answer and more behind its end.
func after(w http.ResponseWriter, content string) bool {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nETag: \"e\"\r\nLast-Modified: Thu, 26 Nov 2026 00:00:00 GMT\r\n\r\n%sand more", len(content), content)
	c.Close()
	return true
}

// TestWrongReads: whatever a server answers, a reader gets the contents or an error, and no copy of anything else is kept.
func TestWrongReads(t *testing.T) {
	content := strings.Repeat("x", 1<<20)
	half := content[:len(content)/2]
	for name, tc := range map[string]struct {
		answer func(w http.ResponseWriter) bool
		plain  string // what another client has read
		want   error
	}{
		"cut":            {func(w http.ResponseWriter) bool { return short(w, len(content), half) }, half, blob.ErrTransient},
		"cut in chunks":  {func(w http.ResponseWriter) bool { return inChunks(w, half) }, half, blob.ErrTransient},
		"shorter":        {func(w http.ResponseWriter) bool { return short(w, len(half), half) }, half, cas.ErrCorrupt},
		"longer":         {func(w http.ResponseWriter) bool { return short(w, len(content)+1, content+"x") }, content + "x", cas.ErrCorrupt},
		"empty":          {func(w http.ResponseWriter) bool { return short(w, 0, "") }, "", cas.ErrCorrupt},
		"another":        {func(w http.ResponseWriter) bool { return short(w, len(content), half+"y"+half[1:]) }, half + "y" + half[1:], cas.ErrCorrupt},
		"more behind it": {func(w http.ResponseWriter) bool { return after(w, content) }, content, nil},
	} {
		t.Run(name, func(t *testing.T) {
			bucket, sum := newBucket(t), blobtest.Digest(content)
			blobtest.Put(t, open(t, "s3://"+bucket), content)
			endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool { return isGet(r) && tc.answer(w) })
			if got, err := seen(t, endpoint+"/"+bucket+"/sha256/"+sum); got != tc.plain {
				t.Fatalf("another client reads %d bytes, %v", len(got), err)
			}
			dir := t.TempDir()
			s, err := blob.OpenShared(dir, openBucket(t, "s3://"+bucket+"?endpoint="+endpoint))
			blobtest.Must(t, err)
			if err := s.Verify(t.Context(), sum); !errors.Is(err, tc.want) {
				t.Errorf("verify: %v; want %v", err, tc.want)
			}
			f, err := s.Fetch(t.Context(), sum)
			if !errors.Is(err, tc.want) {
				t.Errorf("fetch: %v; want %v", err, tc.want)
			}
			if err == nil {
				blobtest.Must(t, f.Close())
			}
			copies, err := filepath.Glob(dir + "/*/*")
			if err != nil || (len(copies) > 0) != (tc.want == nil) {
				t.Errorf("copies: %v, %v", copies, err)
			}
		})
	}
}

func inChunks(w http.ResponseWriter, content string) bool {
	w.Header().Set("Last-Modified", "Thu, 26 Nov 2026 00:00:00 GMT")
	_, _ = io.WriteString(w, content)
	w.(http.Flusher).Flush()
	panic(http.ErrAbortHandler)
}

// TestWrongChecksum: a server that answers 200 with the checksum of something else has not taken the blob.
func TestWrongChecksum(t *testing.T) {
	for name, content := range map[string]string{"whole": "content", "in parts": large} {
		t.Run(name, func(t *testing.T) {
			var wrong atomic.Int64
			wrong.Store(1000)
			endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
				if !isPut(r) || wrong.Add(-1) < 0 {
					return false
				}
				_, _ = io.Copy(io.Discard, r.Body) // what is short is short
				w.Header().Set(checksumHeader, "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
				w.Header().Set("ETag", `"e"`)
				return true
			})
			s := open(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
			if err := keep(t, s, content); !errors.Is(err, blob.ErrTransient) || !strings.Contains(err.Error(), "is kept with the checksum") {
				t.Errorf("%v", err)
			}
			wrong.Store(0)
			blobtest.Must(t, keep(t, s, content))
			blobtest.Must(t, s.Verify(t.Context(), blobtest.Digest(content)))
		})
	}
}

// TestWrongETagOfAPart: the server finds that a part is not the one that it has.
func TestWrongETagOfAPart(t *testing.T) {
	endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if isPart(r) {
			_, _ = io.Copy(io.Discard, r.Body) // what is short is short
			w.Header().Set("ETag", `"0123456789abcdef0123456789abcdef"`)
		}
		return isPart(r)
	})
	b := openBucket(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
	sum := blobtest.Digest(large)
	if err := b.put(t.Context(), sum, file(t, large), int64(len(large))); err == nil || !strings.Contains(err.Error(), "InvalidPart") {
		t.Errorf("put: %v; want InvalidPart", err)
	}
	b.expectNothing(t, sum, 0)
}

// expectNothing checks that a blob is missing and how many uploads are unfinished.
func (b *Bucket) expectNothing(t *testing.T, sum string, uploads int) {
	t.Helper()
	if _, err := b.stat(t.Context(), sum); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
	if n, err := b.CleanUploads(t.Context(), later(), true); n != uploads || err != nil {
		t.Errorf("%d uploads are unfinished, %v; want %d", n, err, uploads)
	}
}

// TestPartsAreCut: a connection that breaks in a part is tried again; if it breaks each time, that is an error, and
// nothing is left.
func TestPartsAreCut(t *testing.T) {
	var cuts atomic.Int64
	endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if !isPart(r) || cuts.Add(-1) < 0 {
			return false
		}
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		panic(http.ErrAbortHandler)
	})
	cuts.Store(1)
	part := endpoint + "/bucket/sha256/x?partNumber=1"
	if request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, part, strings.NewReader(large)); err != nil {
		t.Fatal(err)
	} else if answer, err := http.DefaultClient.Do(request); err == nil {
		t.Fatalf("another client is answered: %s", answer.Status)
	}
	b, sum := openBucket(t, "s3://"+newBucket(t)+"?endpoint="+endpoint), blobtest.Digest(large)
	cuts.Store(1000)
	if err := b.put(t.Context(), sum, file(t, large), int64(len(large))); !errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v; want ErrTransient", err)
	}
	b.expectNothing(t, sum, 0)
	cuts.Store(2)
	blobtest.Must(t, b.put(t.Context(), sum, file(t, large), int64(len(large))))
	if size, err := b.Size(t.Context(), sum); size != int64(len(large)) || err != nil {
		t.Errorf("%d bytes, %v", size, err)
	}
}
