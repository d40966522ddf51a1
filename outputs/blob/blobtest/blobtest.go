// Package blobtest is the conformance suite of blob stores: a directory and each Remote pass it.
package blobtest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
)

// Fixture is a fresh store and functions that tamper with it.
type Fixture struct {
	Store *blob.Store
	// Another opens it again, as another host does; for a directory, as another process.
	Another func(t testing.TB) *blob.Store
	// Damage replaces the content of a stored blob; Age makes it that old.
	Damage func(t testing.TB, sha256, content string)
	Age    func(t testing.TB, sha256 string, age time.Duration)
}

// Run runs the suite; fixture is called for each test.
func Run(t *testing.T, fixture func(t testing.TB) Fixture) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Fixture)
	}{
		{"put and read", putAndRead},
		{"missing", missing},
		{"damaged", damaged},
		{"damaged is replaced", replaced},
		{"repair", repair},
		{"again", again},
		{"many", many},
		{"several at once", several},
		{"walk and remove", walkAndRemove},
		{"the young stay", young},
		{"used again while removed", usedAgain},
		{"catalog id", catalogID},
		{"one catalog id wins", oneWins},
		{"fetch", fetch},
		{"bad digests", badDigests},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, fixture(t)) })
	}
}

// Must ends the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Digest is a SHA-256 in hex.
func Digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// Publish makes blobs as a run does up to Sync. The caller closes the ingest directory, after Keep and the commit.
func Publish(t testing.TB, s *blob.Store, contents ...string) *cas.Ingest {
	t.Helper()
	i, err := s.NewIngest("run-1@1")
	Must(t, err)
	for _, content := range contents {
		name, f, err := i.Create()
		Must(t, err)
		_, err = f.WriteString(content)
		Must(t, errors.Join(err, f.Close(), i.Gather(name, Digest(content))))
	}
	Must(t, i.Sync())
	return i
}

// Put makes blobs as a run does, up to its commit.
func Put(t testing.TB, s *blob.Store, contents ...string) {
	t.Helper()
	i := Publish(t, s, contents...)
	Must(t, s.Keep(t.Context(), Digests(contents...), func() {}))
	Must(t, i.Close())
}

// Digests are those of contents.
func Digests(contents ...string) (all []string) {
	for _, content := range contents {
		all = append(all, Digest(content))
	}
	return all
}

// Forget removes the store's local files except the blobs.
func Forget(t testing.TB, s *blob.Store) {
	t.Helper()
	Must(t, s.EmptyCache(func() (func(string) bool, error) { return func(string) bool { return false }, nil }))
}

func read(ctx context.Context, s *blob.Store, sum string) (string, error) {
	r, err := s.Open(ctx, sum)
	if err != nil {
		return "", err
	}
	content, err := io.ReadAll(r)
	return string(content), errors.Join(err, r.Close())
}

func putAndRead(t *testing.T, f Fixture) {
	contents := []string{"", "content", strings.Repeat("x", 200<<10)}
	Put(t, f.Store, contents...)
	for _, s := range []*blob.Store{f.Store, f.Another(t)} {
		for _, content := range contents {
			Forget(t, s)
			sum := Digest(content)
			if got, err := read(t.Context(), s, sum); got != content || err != nil {
				t.Errorf("%d bytes, %v; want %d", len(got), err, len(content))
			}
			if size, err := s.Size(t.Context(), sum); size != int64(len(content)) || err != nil {
				t.Errorf("size %d, %v; want %d", size, err, len(content))
			}
			if has, err := s.Has(t.Context(), sum); !has || err != nil {
				t.Errorf("has %v, %v", has, err)
			}
			Must(t, s.Verify(t.Context(), sum))
		}
	}
}

func missing(t *testing.T, f Fixture) {
	sum := Digest("missing")
	if has, err := f.Store.Has(t.Context(), sum); has || err != nil {
		t.Errorf("has %v, %v", has, err)
	}
	_, openErr := f.Store.Open(t.Context(), sum)
	_, sizeErr := f.Store.Size(t.Context(), sum)
	_, fetchErr := f.Store.Fetch(t.Context(), sum)
	for _, err := range []error{openErr, sizeErr, fetchErr} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%v; want fs.ErrNotExist", err)
		}
	}
	if f.Store.Shared() {
		if err := f.Store.Keep(t.Context(), []string{sum}, func() {}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a blob that is nowhere is kept: %v", err)
		}
	}
}

// Readers detect damage, and publishing the content again repairs it.
func damaged(t *testing.T, f Fixture) {
	for name, content := range map[string]string{"same size": "another", "shorter": "a", "longer": "content and more"} {
		Put(t, f.Store, "content")
		sum := Digest("content")
		f.Damage(t, sum, content)
		Forget(t, f.Store)
		if _, err := read(t.Context(), f.Store, sum); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("%s: read: %v; want ErrCorrupt", name, err)
		}
		if err := f.Store.Verify(t.Context(), sum); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("%s: verify: %v; want ErrCorrupt", name, err)
		}
		if _, err := f.Store.Fetch(t.Context(), sum); !errors.Is(err, cas.ErrCorrupt) {
			t.Errorf("%s: fetch: %v; want ErrCorrupt", name, err)
		}
	}
}

// replaced: a blob is repaired by its content.
func replaced(t *testing.T, f Fixture) {
	for name, content := range map[string]string{"same size": "another", "shorter": "a", "longer": "content and more"} {
		Put(t, f.Store, "content")
		f.Damage(t, Digest("content"), content)
		Put(t, f.Store, "content")
		if err := f.Store.Verify(t.Context(), Digest("content")); err != nil {
			t.Errorf("%s: verify: %v", name, err)
		}
	}
}

// repair restores damaged and missing blobs from a copy only.
func repair(t *testing.T, f Fixture) {
	content := strings.Repeat("x", 200<<10)
	sum := Digest(content)
	Must(t, f.Store.Repair(t.Context(), sum, strings.NewReader(content))) // it is missing
	Must(t, f.Store.Verify(t.Context(), sum))
	f.Damage(t, sum, strings.Repeat("y", 200<<10))
	Forget(t, f.Store)
	if err := f.Store.Repair(t.Context(), sum, strings.NewReader("another")); !errors.Is(err, cas.ErrCorrupt) {
		t.Errorf("from another content: %v; want ErrCorrupt", err)
	}
	if err := f.Store.Verify(t.Context(), sum); !errors.Is(err, cas.ErrCorrupt) {
		t.Errorf("it became %v", err)
	}
	Must(t, f.Store.Repair(t.Context(), sum, strings.NewReader(content)))
	Must(t, f.Store.Verify(t.Context(), sum))
	if !f.Store.Shared() {
		return
	}
	f.Damage(t, sum, "y")
	if repaired, err := f.Store.RepairFromCache(t.Context(), sum); !repaired || err != nil {
		t.Errorf("from the copy here: %v, %v", repaired, err)
	}
	Must(t, f.Store.Verify(t.Context(), sum))
}

func again(t *testing.T, f Fixture) {
	for range 3 {
		Put(t, f.Store, "again", "again")
	}
	n := 0
	Must(t, f.Store.Walk(t.Context(), nil, func(cas.Found) bool { n++; return true }))
	if n != 1 {
		t.Errorf("%d blobs", n)
	}
}

func numbered(n int) (contents []string) {
	for i := range n {
		contents = append(contents, fmt.Sprintf("content %d", i))
	}
	return contents
}

func many(t *testing.T, f Fixture) {
	contents := numbered(100)
	i := Publish(t, f.Store, contents...)
	var kept atomic.Int64
	Must(t, f.Store.Keep(t.Context(), Digests(contents...), func() { kept.Add(1) }))
	Must(t, i.Close())
	if f.Store.Shared() && kept.Load() != 100 {
		t.Errorf("%d were put", kept.Load())
	}
	found := map[string]int64{}
	Must(t, f.Another(t).Walk(t.Context(), nil, func(f cas.Found) bool {
		found[f.SHA256] = f.Size
		if age := time.Since(f.Modified); age > time.Hour || age < -time.Hour {
			t.Errorf("%s was modified %v ago", f.SHA256, age)
		}
		return true
	}))
	for _, content := range contents {
		if found[Digest(content)] != int64(len(content)) {
			t.Fatalf("%q has %d bytes", content, found[Digest(content)])
		}
	}
}

func several(t *testing.T, f Fixture) {
	contents := numbered(20)
	var all sync.WaitGroup
	for range 4 {
		s := f.Another(t)
		all.Go(func() { Put(t, s, contents...) })
	}
	all.Wait()
	for _, content := range contents {
		if got, err := read(t.Context(), f.Store, Digest(content)); got != content || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func walkAndRemove(t *testing.T, f Fixture) {
	contents := numbered(5)
	Put(t, f.Store, contents...)
	for _, content := range contents {
		f.Age(t, Digest(content), 48*time.Hour)
	}
	var found []cas.Found
	spared := Digest(contents[0])
	Must(t, f.Store.Walk(t.Context(), func(sum string) bool { return sum == spared }, func(f cas.Found) bool {
		found = append(found, f)
		return true
	}))
	if len(found) != 4 {
		t.Fatalf("%d found", len(found))
	}
	for range 2 { // a missing one is no error
		_, err := f.Store.Remove(t.Context(), found, time.Now().Add(-24*time.Hour))
		Must(t, err)
	}
	Forget(t, f.Store)
	for i, content := range contents {
		if has, err := f.Store.Has(t.Context(), Digest(content)); has != (i == 0) || err != nil {
			t.Errorf("%q: %v, %v", content, has, err)
		}
	}
}

// A blob published again since it was found old is not removed; a directory has a lock for that.
func young(t *testing.T, f Fixture) {
	if !f.Store.Shared() {
		t.Skip("a directory has a lock between publication and removal, see TestPublishKeepsSweepOut")
	}
	Put(t, f.Store, "young", "old")
	before := time.Now().Add(-24 * time.Hour)
	f.Age(t, Digest("old"), 48*time.Hour)
	both := []cas.Found{{SHA256: Digest("young")}, {SHA256: Digest("old")}}
	removed, err := f.Another(t).Remove(t.Context(), both, before)
	if err != nil || len(removed) != 1 || removed[0].SHA256 != Digest("old") {
		t.Errorf("removed %v, %v", removed, err)
	}
}

// Hosts remove and use the same old blobs at the same time: what Keep has confirmed is there afterwards.
func usedAgain(t *testing.T, f Fixture) {
	if !f.Store.Shared() {
		t.Skip("a directory has a lock between publication and removal, see TestPublishKeepsSweepOut")
	}
	contents := append(numbered(10), strings.Repeat("large", 50<<10))
	for range 3 {
		Put(t, f.Store, contents...)
		var found []cas.Found
		for _, content := range contents {
			f.Age(t, Digest(content), 48*time.Hour)
			found = append(found, cas.Found{SHA256: Digest(content)})
		}
		before := time.Now().Add(-24 * time.Hour)
		var all sync.WaitGroup
		for range 2 {
			sweeper := f.Another(t)
			all.Go(func() {
				_, err := sweeper.Remove(t.Context(), found, before)
				for errors.Is(err, blob.ErrTransient) { // a server may fail if two remove one object
					_, err = sweeper.Remove(t.Context(), found, before)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
		user := f.Another(t)
		i := Publish(t, user, contents...)
		for {
			err := user.Keep(t.Context(), Digests(contents...), func() {})
			if err == nil {
				break
			}
			if !errors.Is(err, blob.ErrTransient) {
				t.Fatal(err)
			}
		}
		all.Wait()
		Must(t, i.Close())
		for _, content := range contents {
			if has, err := user.Has(t.Context(), Digest(content)); !has || err != nil {
				t.Fatalf("%.20q was vouched for: %v, %v", content, has, err)
			}
		}
	}
}

func catalogID(t *testing.T, f Fixture) {
	s := f.Store
	if id, err := s.CatalogID(t.Context()); id != "" || err != nil {
		t.Fatalf("%q, %v", id, err)
	}
	for range 2 {
		Must(t, s.SetCatalogID(t.Context(), "one"))
	}
	if err := f.Another(t).SetCatalogID(t.Context(), "two"); err == nil || !strings.Contains(err.Error(), "belongs to the catalog one") {
		t.Errorf("%v", err)
	}
	if err := s.ChangeCatalogID(t.Context(), "three", "two"); err == nil {
		t.Error("the store of another catalog was given away")
	}
	for range 2 {
		Must(t, s.ChangeCatalogID(t.Context(), "one", "two"))
	}
	if id, err := f.Another(t).CatalogID(t.Context()); id != "two" || err != nil {
		t.Errorf("%q, %v", id, err)
	}
	for _, bad := range []string{"", "a b", "a\n", "ü", strings.Repeat("x", 129)} {
		if err := s.SetCatalogID(t.Context(), bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func oneWins(t *testing.T, f Fixture) {
	var won atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		s := f.Another(t)
		all.Go(func() {
			if s.SetCatalogID(t.Context(), fmt.Sprintf("catalog-%d", i)) == nil {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d have won", won.Load())
	}
}

func fetch(t *testing.T, f Fixture) {
	Put(t, f.Store, "content")
	Forget(t, f.Store)
	for range 2 { // the second finds the copy
		file, err := f.Store.Fetch(t.Context(), Digest("content"))
		Must(t, err)
		got, err := io.ReadAll(file)
		info, failed := file.Stat()
		Must(t, errors.Join(err, failed, file.Close()))
		if string(got) != "content" || info.Mode().Perm() != 0o444 {
			t.Errorf("%q, %v", got, info.Mode())
		}
	}
}

func badDigests(t *testing.T, f Fixture) {
	for _, bad := range []string{"", "x", "../../../../etc/passwd", strings.Repeat("A", 64), strings.Repeat("a", 63) + "/"} {
		_, openErr := f.Store.Open(t.Context(), bad)
		_, sizeErr := f.Store.Size(t.Context(), bad)
		_, fetchErr := f.Store.Fetch(t.Context(), bad)
		for _, err := range []error{openErr, sizeErr, fetchErr} {
			if err == nil || !strings.Contains(err.Error(), "is no sha256 digest") {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
}
