package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"testing"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// shelf is a real blob store with what a test has put there.
type shelf struct {
	store  *blob.Store
	ingest *cas.Ingest
}

func (s shelf) Open(sha256 string) (io.ReadCloser, error) {
	return s.store.Open(context.Background(), sha256)
}

func newShelf(t testing.TB) shelf {
	t.Helper()
	store, err := blob.Open(t.TempDir())
	must(t, err)
	ingest, err := store.NewIngest("test")
	must(t, err)
	t.Cleanup(func() { must(t, ingest.Close()) })
	return shelf{store, ingest}
}

func (s shelf) put(t testing.TB, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	name, f, err := s.ingest.Create()
	must(t, err)
	_, err = f.WriteString(content)
	must(t, err)
	must(t, f.Close())
	must(t, s.ingest.Publish(name, digest))
	return digest
}

// output is a file among the outputs, with the type that the harvest would give it.
func (s shelf) output(t testing.TB, path, media, content string) result.Output {
	t.Helper()
	return result.Output{Path: path, Size: int64(len(content)), SHA256: s.put(t, content), MediaType: media}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
