package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/blob/blobtest"
)

// between is a proxy between a client and the server. It calls meddle with each request, which reports whether it has
// answered.
func between(t *testing.T, meddle func(w http.ResponseWriter, r *http.Request) bool) (endpoint string) {
	t.Helper()
	pass := passTo(t, theServer.Endpoint)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !meddle(w, r) {
			pass.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// passTo passes requests on to a server.
func passTo(t *testing.T, endpoint string) http.Handler {
	t.Helper()
	target, err := url.Parse(endpoint)
	blobtest.Must(t, err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code string) bool {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	return true
}

// cut reads some of a request and closes the connection.
func cut(w http.ResponseWriter, r *http.Request) bool {
	_, _ = io.CopyN(io.Discard, r.Body, 1000)
	panic(http.ErrAbortHandler)
}

func isPut(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/sha256/")
}

func keep(t *testing.T, s *blob.Store, contents ...string) error {
	t.Helper()
	i := blobtest.Publish(t, s, contents...)
	defer i.Close()
	return s.Keep(t.Context(), blobtest.Digests(contents...), func() {})
}

// A request that fails for a moment is tried again. If it keeps failing, that is an error, and the blob is not there.
func TestTransientFaults(t *testing.T) {
	for name, fault := range map[string]func(http.ResponseWriter, *http.Request) bool{
		"409": func(w http.ResponseWriter, _ *http.Request) bool { return refuse(w, 409, "OperationAborted") },
		"503": func(w http.ResponseWriter, _ *http.Request) bool { return refuse(w, 503, "SlowDown") },
		"500": func(w http.ResponseWriter, _ *http.Request) bool { return refuse(w, 500, "InternalError") },
		"429": func(w http.ResponseWriter, _ *http.Request) bool { return refuse(w, 429, "TooManyRequests") },
		"cut": cut,
	} {
		t.Run(name, func(t *testing.T) {
			var left atomic.Int64
			endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
				return isPut(r) && left.Add(-1) >= 0 && fault(w, r)
			})
			s := open(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
			content := strings.Repeat(name, 100<<10)
			left.Store(1)
			blobtest.Must(t, keep(t, s, content))
			left.Store(1000)
			err := keep(t, s, content+"!")
			if !errors.Is(err, blob.ErrTransient) {
				t.Errorf("%v; want ErrTransient", err)
			}
			if has, err := s.Has(t.Context(), blobtest.Digest(content+"!")); has || err != nil {
				t.Errorf("what was not put whole is there: %v, %v", has, err)
			}
			left.Store(0)
			blobtest.Must(t, keep(t, s, content+"!"))
		})
	}
}

// An error that another try does not help against says what to do, and shows no secret.
func TestPermanentFaults(t *testing.T) {
	always := func(status int, code string) string {
		return "?endpoint=" + between(t, func(w http.ResponseWriter, _ *http.Request) bool { return refuse(w, status, code) })
	}
	for _, tc := range []struct{ name, key, secret, url, want string }{
		{"unknown key", "nobody", "s3cr3t-canary", "s3://" + newBucket(t), "AWS_ACCESS_KEY_ID"},
		{"wrong secret", theServer.AccessKey, "s3cr3t-canary", "s3://" + newBucket(t), "AWS_SECRET_ACCESS_KEY"},
		{"no bucket", theServer.AccessKey, theServer.SecretKey, "s3://no-such-bucket", `there is no bucket "no-such-bucket"`},
		{"forbidden", theServer.AccessKey, theServer.SecretKey, "s3://bucket" + always(403, "AccessDenied"), "grant s3:GetObject"},
		{"full", theServer.AccessKey, theServer.SecretKey, "s3://bucket" + always(403, "QuotaExceeded"), "make room"},
		{"storage full", theServer.AccessKey, theServer.SecretKey, "s3://bucket" + always(507, "InsufficientStorage"), "make room"},
		{"another region", theServer.AccessKey, theServer.SecretKey, "s3://bucket" + always(301, "PermanentRedirect"), "AWS_REGION"},
		{"clock", theServer.AccessKey, theServer.SecretKey, "s3://bucket" + always(403, "RequestTimeTooSkewed"), "clock"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv("AWS_ACCESS_KEY_ID", tc.key)
			t.Setenv("AWS_SECRET_ACCESS_KEY", tc.secret)
			s := open(t, tc.url)
			for what, err := range map[string]error{"put": keep(t, s, "content"), "id": s.SetCatalogID(t.Context(), "one")} {
				if err == nil || !strings.Contains(err.Error(), tc.want) || errors.Is(err, blob.ErrTransient) || strings.Contains(err.Error(), tc.secret) {
					t.Errorf("%s: %v; want %q", what, err, tc.want)
				}
			}
		})
	}
}

// The server verifies what arrives.
func TestCorruptedUpload(t *testing.T) {
	content := strings.Repeat("a", 1000)
	for name, key := range map[string]bool{"whole": true, "part": false} {
		t.Run(name, func(t *testing.T) {
			endpoint := between(t, func(_ http.ResponseWriter, r *http.Request) bool {
				if isPut(r) {
					r.Body = io.NopCloser(io.MultiReader(strings.NewReader("b"), io.NewSectionReader(discardFirst(r.Body), 0, r.ContentLength-1)))
				}
				return false
			})
			b := openBucket(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
			f := file(t, content)
			var err error
			if key {
				err = b.put(t.Context(), blobtest.Digest(content), f, int64(len(content)))
			} else {
				err = b.putParts(t.Context(), blobtest.Digest(content), f, int64(len(content)))
			}
			if err == nil {
				t.Error("it was taken")
			}
			if _, err := b.stat(t.Context(), blobtest.Digest(content)); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("it is there: %v", err)
			}
		})
	}
}

func discardFirst(r io.Reader) io.ReaderAt {
	all, _ := io.ReadAll(r) // what is short is short for the server as well
	return strings.NewReader(string(all[min(1, len(all)):]))
}

func file(t *testing.T, content string) *os.File {
	t.Helper()
	f, err := os.Create(t.TempDir() + "/file")
	blobtest.Must(t, err)
	t.Cleanup(func() { f.Close() })
	_, err = f.WriteString(content)
	blobtest.Must(t, err)
	return f
}

// A download that breaks off is an error, and never an end.
func TestCutDownload(t *testing.T) {
	bucket := newBucket(t)
	content := strings.Repeat("x", 1<<20)
	blobtest.Put(t, open(t, "s3://"+bucket), content)
	endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method != http.MethodGet || !strings.Contains(r.URL.Path, "/sha256/") {
			return false
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(content)))
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = io.WriteString(w, content[:len(content)/2])
		panic(http.ErrAbortHandler)
	})
	s := open(t, "s3://"+bucket+"?endpoint="+endpoint)
	if err := s.Verify(t.Context(), blobtest.Digest(content)); !errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v; want ErrTransient", err)
	}
}

// If two find no identity in a bucket and write theirs, the second one keeps that of the first.
func TestCatalogIDOfTheFirst(t *testing.T) {
	bucket := newBucket(t)
	unseen := atomic.Int64{}
	unseen.Store(2) // before it writes, and once while the first is writing
	endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, idName) && unseen.Add(-1) >= 0 && refuse(w, 404, minio.NoSuchKey)
	})
	blobtest.Must(t, openBucket(t, "s3://"+bucket).SetCatalogID(t.Context(), "first"))
	blobtest.Must(t, openBucket(t, "s3://"+bucket+"?endpoint="+endpoint).SetCatalogID(t.Context(), "second"))
	if id, err := openBucket(t, "s3://"+bucket).CatalogID(t.Context()); id != "first" || err != nil || unseen.Load() > -1 {
		t.Errorf("the bucket is of %q, %v; %d looks were left", id, err, unseen.Load())
	}
}

// The error says that a server cannot be reached, or does not answer.
func TestServerDoesNotAnswer(t *testing.T) {
	s := open(t, "s3://bucket?endpoint=http://127.0.0.1:1")
	if err := keep(t, s, "content"); !errors.Is(err, blob.ErrTransient) || !strings.Contains(err.Error(), "127.0.0.1:1 did not answer") {
		t.Errorf("%v", err)
	}
	quiet := between(t, func(_ http.ResponseWriter, r *http.Request) bool { <-r.Context().Done(); return true })
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	s = open(t, "s3://bucket?endpoint="+quiet)
	i := blobtest.Publish(t, s, "content")
	defer i.Close()
	if err := s.Keep(ctx, blobtest.Digests("content"), func() {}); !errors.Is(err, blob.ErrTransient) {
		t.Errorf("%v", err)
	}
}

func TestLargeInParts(t *testing.T) {
	b := openBucket(t, "s3://"+newBucket(t)+"/below")
	content := strings.Repeat("0123456789abcdef", (partSize+1<<20)/16)
	sum := blobtest.Digest(content)
	blobtest.Must(t, b.put(t.Context(), sum, file(t, content), int64(len(content))))
	r, err := b.Open(t.Context(), sum)
	blobtest.Must(t, err)
	got, err := io.ReadAll(r)
	blobtest.Must(t, errors.Join(err, r.Close()))
	if blobtest.Digest(string(got)) != sum {
		t.Errorf("%d bytes came back", len(got))
	}
	if whole, err := b.whole(t.Context(), sum, file(t, content), int64(len(content))); !whole || err != nil {
		t.Errorf("it would be put again: %v", err)
	}
	if err := b.put(t.Context(), sum, file(t, "!"+content[1:]), int64(len(content))); !errors.Is(err, cas.ErrCorrupt) {
		t.Errorf("a file that was exchanged here: %v", err)
	}
}

// A server that refuses to put the parts together has no object. S3 may report this in the body of an answer with
// status 200 (CompleteMultipartUpload).
func TestPartsThatAreNotCompleted(t *testing.T) {
	for name, status := range map[string]int{"200": 200, "400": 400} {
		t.Run(name, func(t *testing.T) {
			endpoint := between(t, func(w http.ResponseWriter, r *http.Request) bool {
				return r.Method == http.MethodPost && r.URL.Query().Has("uploadId") && refuse(w, status, "InvalidPart")
			})
			b := openBucket(t, "s3://"+newBucket(t)+"?endpoint="+endpoint)
			content := strings.Repeat("0123456789abcdef", (partSize+1<<20)/16)
			sum := blobtest.Digest(content)
			if err := b.put(t.Context(), sum, file(t, content), int64(len(content))); err == nil || !strings.Contains(err.Error(), "InvalidPart") {
				t.Errorf("put: %v; want InvalidPart", err)
			}
			if _, err := b.Size(t.Context(), sum); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("what was not put together is there: %v", err)
			}
			if n, err := b.CleanUploads(t.Context(), time.Now().Add(time.Hour), true); n != 0 || err != nil {
				t.Errorf("%d uploads are left, %v", n, err)
			}
		})
	}
}

// Uploads that were started before, and records of killed removals, are removed; the others stay.
func TestCleanUploads(t *testing.T) {
	b := openBucket(t, "s3://"+newBucket(t)+"/below")
	for _, name := range []string{"a", "b"} {
		_, err := b.client.NewMultipartUpload(t.Context(), b.Bucket, b.blobKey(blobtest.Digest(name)), minio.PutObjectOptions{})
		blobtest.Must(t, err)
	}
	other := b.key("elsewhere")
	_, err := b.client.NewMultipartUpload(t.Context(), b.Bucket, other, minio.PutObjectOptions{})
	blobtest.Must(t, err)
	blobtest.Must(t, b.write(t.Context(), sweepBelow+openBelow+"x", nil, minio.PutObjectOptions{}))
	past, future := time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	for _, tc := range []struct {
		before time.Time
		dry    bool
		want   int
	}{{past, false, 0}, {future, true, 2}, {future, false, 2}, {future, false, 0}} {
		if n, err := b.CleanUploads(t.Context(), tc.before, tc.dry); n != tc.want || err != nil {
			t.Errorf("before %v, dry %v: %d, %v; want %d", tc.before, tc.dry, n, err, tc.want)
		}
	}
	if s, err := b.sweeps(t.Context(), time.Now()); err != nil || len(s.open) > 0 {
		t.Errorf("%v, %v", s, err)
	}
}

// The digest that an object is put with is compared by the server, not taken on trust.
func TestWrongDigest(t *testing.T) {
	b := openBucket(t, "s3://"+newBucket(t))
	f := file(t, "content")
	if err := b.put(t.Context(), blobtest.Digest("another"), f, 7); err == nil {
		t.Error("it was taken")
	}
	if _, err := b.stat(t.Context(), blobtest.Digest("another")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}
