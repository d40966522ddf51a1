package blob

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// publish makes a blob, up to the commit.
func publish(t testing.TB, s *Store, content string) (*cas.Ingest, string) {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	i, err := s.NewIngest("run-1@1")
	must(t, err)
	_, err = i.Put(digest, strings.NewReader(content))
	must(t, errors.Join(err, i.Sync()))
	return i, digest
}

// elsewhere is a remote that gets no request.
type elsewhere struct{ Remote }

// The oldest copies are removed until half of the bound is left, except those that are needed, and none while a run is
// between publication and commit.
func TestTrim(t *testing.T) {
	s, err := OpenShared(t.TempDir()+"/staging", elsewhere{})
	must(t, err)
	sums := make([]string, 10) // the first is the oldest
	for i := range sums {
		var ingest *cas.Ingest
		ingest, sums[i] = publish(t, s, string(rune('a'+i)))
		must(t, ingest.Close())
		then := time.Now().Add(time.Duration(i-20) * time.Minute)
		path, err := s.Path(sums[i])
		must(t, errors.Join(err, os.Chtimes(path, then, then)))
	}
	needed := func() (func(string) bool, error) {
		return func(sum string) bool { return sum == sums[1] }, nil
	}
	count := func() (n int) {
		must(t, s.Store.Walk(nil, func(cas.Found) bool { n++; return true }))
		return n
	}
	must(t, s.trim(10, needed))
	if n := count(); n != 10 {
		t.Errorf("%d copies of 10 that may be there", n)
	}
	i, _ := publish(t, s, "!")
	must(t, s.trim(4, needed))
	if n := count(); n != 11 {
		t.Errorf("%d copies while a run publishes", n)
	}
	must(t, i.Close())
	must(t, s.trim(8, needed))
	if n := count(); n != 4 {
		t.Errorf("%d copies, want 4", n)
	}
	for _, i := range []int{1, 8, 9} {
		if _, err := s.Store.Size(sums[i]); err != nil {
			t.Errorf("copy %d: %v", i, err)
		}
	}
	must(t, s.Trim(needed)) // looks
	asked := func() (func(string) bool, error) {
		t.Error("it looked again within a minute")
		return needed()
	}
	must(t, s.Trim(asked))
	needed = func() (func(string) bool, error) {
		return func(sum string) bool { return sum == sums[9] }, nil
	}
	i, _ = publish(t, s, "?")
	must(t, s.EmptyCache(needed)) // does not wait
	if n := count(); n != 5 {
		t.Errorf("%d copies while a run publishes, want 5", n)
	}
	must(t, i.Close())
	must(t, s.EmptyCache(needed))
	if n := count(); n != 1 {
		t.Errorf("%d copies, want 1", n)
	}
}

// TestReplacedCopies: the directory of copies may be removed and made again under a command that goes on.
func TestReplacedCopies(t *testing.T) {
	dir := t.TempDir() + "/staging"
	s, err := OpenShared(dir, elsewhere{})
	must(t, err)
	must(t, os.Rename(dir, dir+".old"))
	_, err = OpenShared(dir, elsewhere{})
	must(t, err)
	i, sum := publish(t, s, "x")
	_, err = s.Store.Size(sum)
	must(t, errors.Join(err, i.Close()))
}
