package recovery

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/record"
	"github.com/scidex-ai/scidex-oci/runner/pending"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// far is a blob store whose Keep is keep.
type far struct {
	blob.Remote
	keep func(ctx context.Context) error
}

func (f far) Keep(ctx context.Context, _ []string, _ func(string) (*os.File, error), _ func()) error {
	return f.keep(ctx)
}

func (far) String() string { return "far" }

// unended is a catalog whose runs have not ended, and which calls commit.
type unended struct {
	catalog.Catalog
	commit func() error
}

func (unended) Get(_ context.Context, key catalog.Key) (catalog.Run, error) {
	return catalog.Run{Key: key, Outcome: outcome.Outcome{State: outcome.Running}}, nil
}

func (u unended) Commit(context.Context, catalog.Run, func() (outputs.Entry, error)) error {
	return u.commit()
}

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// waiting is a pass with so many results that wait, each of which names the blob of the text "blob".
func waiting(t *testing.T, results int, c catalog.Catalog, blobs *blob.Store) *pass {
	t.Helper()
	r := &phase.Host{Root: t.TempDir(), Catalog: c, Blobs: blobs}
	for n := range results {
		run := catalog.Run{Key: catalog.Key{ID: fmt.Sprintf("run-%d", n), Attempt: 1}, Blobs: []string{sumOf("blob")}}
		none := func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }
		if err := record.Keep(pending.Path(r, run.Key), pending.Record{V: 1, Catalog: "c", Run: run}, none); err != nil {
			t.Fatal(err)
		}
	}
	return &pass{Host: r, catalogID: "c"}
}

func openFar(t *testing.T, keep func(ctx context.Context) error) *blob.Store {
	t.Helper()
	s, err := blob.OpenShared(filepath.Join(t.TempDir(), "staging"), far{keep: keep})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A command that is about something else gives all results together their time, and none of the others a try after one
// met a blob store that does not answer. gc tries each.
func TestOutcomesInBoundedTime(t *testing.T) {
	for _, tc := range []struct {
		hurried bool
		err     error
		takes   time.Duration // an upload, where nobody ends it
		tries   int
		most    time.Duration
	}{
		{true, blob.ErrTransient, time.Hour, 1, uploadTime},
		{true, blob.ErrTransient, 0, 1, 0},
		{true, errors.New("refused"), uploadTime / 2, 3, uploadTime},
		{true, errors.New("refused"), 0, 5, 0},
		{false, errors.New("refused"), uploadTime, 5, 5 * uploadTime},
	} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			p := waiting(t, 5, unended{}, openFar(t, func(ctx context.Context) error {
				tries++
				select {
				case <-ctx.Done():
				case <-time.After(tc.takes):
				}
				return tc.err
			}))
			began := time.Now()
			if tc.hurried {
				committer{pass: p, deadline: time.Now().Add(uploadTime)}.all(t.Context())
			} else {
				committer{pass: p}.all(t.Context())
			}
			if took := time.Since(began); tries > tc.tries || tries == 0 || took > tc.most {
				t.Errorf("%+v: %d tries, %v", tc, tries, took)
			}
			if told := errors.Join(p.report.Errors...); strings.Contains(told.Error(), "more wait") != (tries < 5) {
				t.Errorf("%+v: %v", tc, told)
			}
		})
	}
}

// What is nowhere says what to do about it.
func TestOutcomeWithoutItsBlob(t *testing.T) {
	here, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	for name, blobs := range map[string]*blob.Store{
		"directory": here,
		"bucket":    openFar(t, func(context.Context) error { return fmt.Errorf("blob x is not in the blob store: %w", fs.ErrNotExist) }),
	} {
		p := waiting(t, 1, unended{}, blobs)
		committer{pass: p}.all(t.Context())
		if told := fmt.Sprint(p.report.Errors); len(p.report.Errors) != 1 || !strings.Contains(told, "put the blob back, or remove the record") {
			t.Errorf("%s: %s", name, told)
		}
	}
}

// No gc of another root removes from the same directory what a pending result is about to name.
func TestOutcomeLocksItsBlobs(t *testing.T) {
	blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := blobs.Path(sumOf("blob"))
	if err == nil {
		err = os.WriteFile(path, []byte("blob"), 0o400)
	}
	if err != nil {
		t.Fatal(err)
	}
	sweep := func() error {
		lock, err := os.Open(filepath.Dir(path))
		if err != nil {
			return err
		}
		defer lock.Close()
		return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	var found error
	stop := errors.New("not now")
	p := waiting(t, 1, unended{commit: func() error { found = sweep(); return stop }}, blobs)
	committer{pass: p}.all(t.Context())
	if !errors.Is(found, syscall.EWOULDBLOCK) || !errors.Is(errors.Join(p.report.Errors...), stop) {
		t.Errorf("a gc during the commit: %v; %v", found, p.report.Errors)
	}
	if err := sweep(); err != nil {
		t.Errorf("a gc afterwards: %v", err)
	}
}
