package e2e

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// copied are files of all kinds: a name that is no UTF-8, an empty file, and one that is too large to be uploaded without a HEAD.
const copied = `import sys
open(b"a\n\xff", "w").write("odd " + sys.argv[1])
open("empty", "w")
open("large", "w").write(sys.argv[1] * 1000000)
print("said", sys.argv[1])
`

// A catalog is copied from SQLite and a directory into PostgreSQL and a bucket, also after an interruption, and back.
// Hosts that have only PostgreSQL and the bucket find all of it.
func TestPostgresCatalogCopyToBucket(t *testing.T) {
	h, db := inPostgres(t)
	b := newBucket(t)
	here := flags("--db", "sqlite://"+filepath.Join(h.root, "catalog.db"), "--blobs", "file://"+filepath.Join(h.root, "blobs"))
	elsewhere := newHarness(t) // with nothing of its own
	elsewhere.setenv("SCIDEX_OCI_DB", db.url())
	b.configure(elsewhere)
	h.setenv("AWS_ACCESS_KEY_ID", b.accessKey)
	h.setenv("AWS_SECRET_ACCESS_KEY", b.secretKey)
	h.write("files.py", copied, 0o644)
	run := func(name string) string {
		id := h.id(name)
		h.start(append(append([]string{}, here...), "--id", id, "--label", "n="+name, "--script", "files.py", name)...).expect(t, "complete", "exit", 0)
		return id
	}
	ids := []string{run("a"), run("b"), run("c")}
	failed := h.id("failed")
	h.start(append(append([]string{}, here...), "--id", failed, "--", "sh", "-c", "echo no; exit 3")...).expect(t, "failed", "exit", 3)
	toBucket := append(append([]string{}, here...), "catalog", "copy", "--from", here[1], "--to", db.url(), "--to-blobs", b.url)

	// A full bucket, and a copy that is killed: every row has its blobs.
	b.do(after(5, refusePuts(507, "XMinioStorageFull")))
	h.mustRefuse(toBucket, "copy run "+ids[1], "XMinioStorageFull")
	b.do(nil)
	elsewhere.mustRun("catalog", "check", "--digests")
	h.killedAtPut(b, toBucket)
	elsewhere.mustRun("catalog", "check", "--digests")
	if out := h.mustRun(toBucket...).stdout; !strings.Contains(out, "3 runs, 1 were there") {
		t.Errorf("%s", out)
	}
	if out := h.mustRun(toBucket...).stdout; !strings.Contains(out, "0 runs, 4 were there") || !strings.Contains(out, "0 copied") {
		t.Errorf("%s", out)
	}
	h.sameThere(here, elsewhere, nil, append(ids, failed))

	// Both stay in use.
	h.mustRun(append(append([]string{}, here...), "gc")...)
	elsewhere.mustRun("gc")
	ids = append(ids, run("d"))
	if out := h.mustRun(toBucket...).stdout; !strings.Contains(out, "1 run, 4 were there") {
		t.Errorf("%s", out)
	}
	h.sameThere(here, elsewhere, nil, append(ids, failed))

	// And back, into another catalog and a directory.
	back := flags("--db", "sqlite://"+h.path("back.db"), "--blobs", "file://"+h.path("back"))
	elsewhere.mustRun("catalog", "copy", "--from", db.url(), "--to", back[1], "--to-blobs", back[3])
	h.sameThere(here, elsewhere, back, ids[3:])

	// The bucket itself is handed over, and the catalog in PostgreSQL writes nothing more.
	third := flags("--db", "sqlite://"+h.path("third.db"))
	elsewhere.mustRun("catalog", "copy", "--from", db.url(), "--to", third[1])
	h.sameThere(here, elsewhere, third, flags(failed))
	elsewhere.mustRefuse([]string{"gc"}, "blob store belongs to")
	elsewhere.mustRun(append(third, "gc")...)
}

// after lets the first n puts of blobs pass.
func after(n int, then func(http.ResponseWriter, *http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	var mu sync.Mutex
	return func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if !putsBlob(r) {
			return false
		}
		n--
		return n < 0 && then(w, r)
	}
}

// killedAtPut kills a command while it puts a blob.
func (h *harness) killedAtPut(b *bucket, args []string) {
	h.t.Helper()
	begun, end := make(chan struct{}), make(chan struct{})
	var once sync.Once
	b.do(func(_ http.ResponseWriter, r *http.Request) bool {
		if putsBlob(r) && r.ContentLength > 1000 {
			once.Do(func() { close(begun) })
			<-end
		}
		return false
	})
	defer b.do(nil)
	cmd := h.command(theHost.bin, args...)
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	<-begun
	if err := cmd.Process.Kill(); err != nil {
		h.t.Fatal(err)
	}
	close(end)
	_ = cmd.Wait() // it was killed
}

// sameThere compares the runs of one catalog and blob store with those of another; here and as are the global flags that name them.
func (h *harness) sameThere(here []string, there *harness, as, ids []string) {
	h.t.Helper()
	for _, id := range ids {
		for _, words := range [][]string{
			{"show", "--json", id}, {"outputs", "ls", "--json", id}, {"logs", id}, {"outputs", "cat", id, `a\n\xff`}, {"outputs", "cat", id, "large"},
		} {
			want := h.do(append(append([]string{}, here...), words...)...)
			if got := there.do(append(append([]string{}, as...), words...)...); got.code != want.code || got.stdout != want.stdout {
				h.t.Errorf("scidex-oci %q: %d %s\nthere %d %s", words, want.code, clipped(want.stdout), got.code, clipped(got.stdout+got.stderr))
			}
		}
	}
	there.mustRun(append(append([]string{}, as...), "catalog", "check", "--digests")...)
}

func clipped(text string) string {
	const most = 2000
	if len(text) > most {
		return fmt.Sprintf("%s... (%d bytes)", text[:most], len(text))
	}
	return text
}
