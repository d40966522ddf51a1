package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// bucket is a bucket of a real S3 server, which scripts/s3 runs, with a proxy before it.
type bucket struct {
	t         *testing.T
	objects   string // in which an object is a file
	url       string
	accessKey string
	secretKey string
	pass      http.Handler                                                      // meddles, or passes on to the server
	meddle    atomic.Pointer[func(w http.ResponseWriter, r *http.Request) bool] // reports whether it has answered
}

// newBucket starts a server, which ends with the test.
func newBucket(t *testing.T) *bucket {
	t.Helper()
	b, endpoint := bareBucket(t, "../../scripts/s3")
	b.standBefore(endpoint)
	return b
}

// standBefore puts a proxy before the server.
func (b *bucket) standBefore(endpoint string) {
	b.t.Helper()
	target, err := url.Parse(endpoint)
	if err != nil {
		b.t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // it is signed
	}}
	b.pass = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if meddle := b.meddle.Load(); meddle == nil || !(*meddle)(w, r) {
			pass.ServeHTTP(w, r)
		}
	})
	between := httptest.NewServer(b.pass)
	b.t.Cleanup(between.Close)
	b.url = "s3://bucket/some%20where?endpoint=" + between.URL
}

// bareBucket is one without a proxy, of a server that a command starts.
func bareBucket(t *testing.T, command ...string) (b *bucket, endpoint string) {
	t.Helper()
	var s struct {
		Endpoint  string `json:"endpoint"`
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
		Dir       string `json:"dir"`
	}
	if err := json.Unmarshal([]byte(startServer(t, command...)), &s); err != nil {
		t.Fatal(err)
	}
	b = &bucket{t: t, objects: filepath.Join(s.Dir, "bucket"), accessKey: s.AccessKey, secretKey: s.SecretKey}
	b.url = "s3://bucket/some%20where?endpoint=" + s.Endpoint
	if err := os.Mkdir(b.objects, 0o755); err != nil {
		t.Fatal(err)
	}
	return b, s.Endpoint
}

// inS3 is a harness whose blobs are in a bucket.
func inS3(t *testing.T) (*harness, *bucket) {
	t.Helper()
	b := newBucket(t)
	h := newHarness(t)
	b.configure(h)
	return h, b
}

// configure gives a harness the bucket and its credentials.
func (b *bucket) configure(h *harness) {
	h.setenv("SCIDEX_OCI_BLOBS", b.url)
	h.setenv("AWS_ACCESS_KEY_ID", b.accessKey)
	h.setenv("AWS_SECRET_ACCESS_KEY", b.secretKey)
}

// store is the URL of the bucket and the prefix, without how they are reached.
func (b *bucket) store() string {
	store, _, _ := strings.Cut(b.url, "?")
	return store
}

// do lets a function answer instead of the server; nil: none.
func (b *bucket) do(meddle func(w http.ResponseWriter, r *http.Request) bool) {
	if meddle == nil {
		b.meddle.Store(nil)
		return
	}
	b.meddle.Store(&meddle)
}

// refusePuts answers each new blob with an error of S3's.
func refusePuts(status int, code string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !putsBlob(r) {
			return false
		}
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code></Error>", code)
		return true
	}
}

func putsBlob(r *http.Request) bool {
	return r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/sha256/")
}

// blob is the file of a content's object.
func (b *bucket) blob(content string) string {
	sum := sha256.Sum256([]byte(content))
	return filepath.Join(b.objects, "some%20where", "sha256", hex.EncodeToString(sum[:]))
}

func (b *bucket) blobs() []string {
	return matches(filepath.Join(b.objects, "some%20where", "sha256", "*"))
}

// age makes all blobs so old that gc removes those that nothing names.
func (b *bucket) age() {
	b.t.Helper()
	for _, path := range b.blobs() {
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-48*time.Hour)); err != nil {
			b.t.Fatal(err)
		}
	}
}

// smallAndLarge makes as many small files as its second argument says, and a large one.
const smallAndLarge = `import sys
for i in range(int(sys.argv[2])):
    open("f%d" % i, "w").write("%s %d\n" % (sys.argv[1], i))
open("large", "w").write(sys.argv[1] * 1000000)
print("said")
`

// The outputs of a run are in the bucket, and every command reads them there, also from another root.
func TestS3(t *testing.T) {
	h, b := inS3(t)
	h.write("numbers.py", smallAndLarge, 0o644)
	h.hook(`test "$(cat "$SCIDEX_OUTPUT_DIR/f7")" = "a 7"`)
	id, files := h.newID(), soakCount(1000)
	h.start("--id", id, "--post-process", "./hook.sh", "--script", "numbers.py", "a", strconv.Itoa(files)).expect(t, "complete", "exit", 0)
	last := fmt.Sprintf("a %d\n", files-1)
	if content, err := os.ReadFile(b.blob(last)); err != nil || string(content) != last {
		t.Errorf("%q, %v", content, err)
	}
	if n := len(b.blobs()); n != files+3 { // with the log and the script
		t.Errorf("%d objects", n)
	}
	h.mustRun("gc") // empties what is kept here
	if left := matches(filepath.Join(h.root, "staging", "*", "sha256", "*")); len(left) > 0 {
		t.Errorf("%d copies are left", len(left))
	}
	other := newHarness(t)
	b.configure(other)
	other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
	for _, reader := range []*harness{h, other} {
		if got := reader.mustRun("outputs", "cat", id, "f42").stdout; got != "a 42\n" {
			t.Errorf("%q", got)
		}
		if got := reader.mustRun("logs", id).stdout; got != "said\n" {
			t.Errorf("%q", got)
		}
		reader.mustRun("outputs", "export", id, "out")
		if got, err := os.ReadFile(reader.path("out/large")); err != nil || string(got) != strings.Repeat("a", 1000000) {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		if got := reader.mustRun("outputs", "find", "f4?").stdout; strings.Count(got, "\n") < 10 {
			t.Errorf("%q", got)
		}
		reader.mustRun("catalog", "check", "--digests")
	}
	h.start("--again", id, "--post-process", "./hook.sh").expect(t, "complete", "exit", 0) // its script comes from the bucket
	h.expectExchangedFound(b, id)
}

// expectExchangedFound exchanges an object.
func (h *harness) expectExchangedFound(b *bucket, id string) {
	h.t.Helper()
	h.mustRun("gc")
	if err := os.WriteFile(b.blob("a 1\n"), []byte("b 1\n"), 0o644); err != nil {
		h.t.Fatal(err)
	}
	if out := h.do("outputs", "cat", id, "f1"); out.code != 125 || !strings.Contains(out.stderr, "corrupt") {
		h.t.Errorf("what was exchanged is read: %d %q %s", out.code, out.stdout, out.stderr)
	}
	if out := h.do("catalog", "check", "--digests"); out.code != 125 || !strings.Contains(out.stderr, "corrupt") {
		h.t.Errorf("check: %d %s", out.code, out.stderr)
	}
}

// Several roots remove unnamed blobs while others need them again: no named blob is lost.
func TestS3Collected(t *testing.T) {
	h, b := inS3(t)
	other := newHarness(t)
	b.configure(other)
	other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
	h.write("numbers.py", smallAndLarge, 0o644)
	kept, gone := h.newID(), h.newID()
	h.start("--id", kept, "--script", "numbers.py", "kept", "100").expect(t, "complete", "exit", 0)
	h.start("--id", gone, "--script", "numbers.py", "gone", "100").expect(t, "complete", "exit", 0)
	h.mustRun("rm", gone)
	h.mustRun("gc")
	if n := len(b.blobs()); n != 204 { // still young
		t.Errorf("%d objects", n)
	}
	b.age()
	if out := h.mustRun("gc", "--dry-run").stdout; !strings.Contains(out, "would remove     101 blobs") {
		t.Errorf("%s", out)
	}
	again := h.newID()
	var all sync.WaitGroup
	for _, collector := range []*harness{h, other} {
		all.Go(func() { collector.mustRun("gc") })
	}
	all.Go(func() {
		h.start("--id", again, "--script", "numbers.py", "gone", "100").expect(t, "complete", "exit", 0)
	})
	all.Wait()
	h.mustRun("gc")
	h.mustRun("catalog", "check", "--digests")
	h.mustRun("rm", again)
	b.age()
	for _, collector := range []*harness{h, other} {
		all.Go(func() { collector.mustRun("gc") })
	}
	all.Wait()
	if n := len(b.blobs()); n != 103 {
		t.Errorf("%d objects", n)
	}
	h.mustRun("catalog", "check", "--digests")
	if left := matches(filepath.Join(b.objects, "some%20where", "gc", "open-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// If a bucket is full, the result waits, with its blobs on this host, and is committed later, also if all unneeded
// copies are removed before.
func TestS3Full(t *testing.T) {
	h, b := inS3(t)
	h.write("numbers.py", smallAndLarge, 0o644)
	h.mustRun("ls")
	for status, code := range map[int]string{507: "XMinioStorageFull", 403: "AccessDenied"} {
		b.do(refusePuts(status, code))
		id := h.newID()
		r := h.start("--id", id, "--script", "numbers.py", code, "100")
		r.expect(t, "error", "commit", 125)
		if !strings.Contains(r.Message, h.outcome(id)) || !strings.Contains(r.Message, "s3://bucket/some%20where") {
			t.Errorf("%s", r.Message)
		}
		if out := h.do("gc"); out.code != 125 || !strings.Contains(out.stderr, code) {
			t.Errorf("gc: %d, %s%s", out.code, out.stdout, out.stderr)
		}
		b.do(nil)
		if out := h.mustRun("gc").stdout; !strings.Contains(out, "committed "+id+"@1") {
			t.Errorf("%s", out)
		}
		h.show(id).expect(t, "complete", "exit", 0)
		if got := h.mustRun("outputs", "cat", id, "f5").stdout; got != code+" 5\n" {
			t.Errorf("%q", got)
		}
	}
	h.mustRun("catalog", "check", "--digests")
}

// A launcher that is killed while it uploads a blob leaves no partial blob, and gc commits the result.
func TestS3Killed(t *testing.T) {
	h, b := inS3(t)
	h.write("numbers.py", smallAndLarge, 0o644)
	h.mustRun("ls")
	begun, end := make(chan struct{}), make(chan struct{})
	defer close(end)
	var once sync.Once
	b.do(func(_ http.ResponseWriter, r *http.Request) bool {
		if putsBlob(r) && r.ContentLength > 100000 {
			_, _ = r.Body.Read(make([]byte, 1000))
			once.Do(func() { close(begun) })
			select {
			case <-end:
			case <-r.Context().Done():
			}
			panic(http.ErrAbortHandler)
		}
		return false
	})
	id := h.newID()
	l := h.launch(id, "--script", "numbers.py", "k", "100")
	<-begun
	all := l.family()
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-l.ended
	expectGone(t, all, id)
	h.show(id).expect(t, "running", "", 0)
	b.do(nil)
	if out := h.mustRun("gc").stdout; !strings.Contains(out, "committed "+id+"@1") {
		t.Errorf("%s", out)
	}
	h.show(id).expect(t, "complete", "exit", 0)
	if got := h.mustRun("logs", id).stdout; got != "said\n" {
		t.Errorf("the log is %q", got)
	}
	h.mustRun("catalog", "check", "--digests")
}

// A problem with the bucket is reported before anything is started, without a secret.
func TestS3Refused(t *testing.T) {
	h, b := inS3(t)
	const canary = "s3cr3t-canary"
	for _, tc := range []struct{ url, key, secret, want string }{
		{b.url, b.accessKey, canary, "AWS_SECRET_ACCESS_KEY"},
		{b.url, "nobody", canary, "AWS_ACCESS_KEY_ID"},
		{b.url, "", "", "no credentials"},
		{strings.Replace(b.url, "//bucket", "//another", 1), b.accessKey, b.secretKey, `no bucket "another"`},
		{"s3://key:" + canary + "@bucket/a", b.accessKey, b.secretKey, "holds no credentials"},
		{"s3://AKIA:" + canary + "/bucket", b.accessKey, b.secretKey, "holds no credentials"},
		{"s3://AKIA:" + canary + "/def@bucket", b.accessKey, b.secretKey, "holds no credentials"},
		{"s3://AKIA:12/" + canary + "@bucket", b.accessKey, b.secretKey, "holds no credentials"},
		{"s3://AKIA:12/" + canary + "/bucket", b.accessKey, b.secretKey, "holds no credentials"},
		{"s3://bucket?token=" + canary, b.accessKey, b.secretKey, "not known"},
	} {
		h.setenv("SCIDEX_OCI_BLOBS", tc.url)
		h.setenv("AWS_ACCESS_KEY_ID", tc.key)
		h.setenv("AWS_SECRET_ACCESS_KEY", tc.secret)
		out := h.mustRefuse([]string{"run", "--", "true"}, tc.want)
		if tc.secret != "" && strings.Contains(out.stderr, tc.secret) || strings.Contains(out.stderr, canary) {
			t.Errorf("a secret is shown: %s", out.stderr)
		}
	}
}
