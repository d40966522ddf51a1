package blob

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/test/durable"
)

func TestCatalogIDIsDurable(t *testing.T) {
	s, err := Open(t.TempDir())
	must(t, err)
	durable.Check(t, func() error { return s.SetCatalogID(t.Context(), "catalog") })
	if left, err := os.ReadDir(filepath.Join(s.Dir(), "ingest")); err != nil || len(left) != 0 {
		t.Errorf("left in ingest: %v %v", left, err)
	}
}

// A store may be given to another catalog while a process has published and not committed.
func TestKeepNoticesAnotherCatalog(t *testing.T) {
	s, err := Open(t.TempDir())
	must(t, err)
	must(t, s.SetCatalogID(t.Context(), "one"))
	must(t, s.Keep(t.Context(), nil, nil))
	other, err := Open(s.Dir())
	must(t, err)
	must(t, other.ChangeCatalogID(t.Context(), "one", "two"))
	if err := s.Keep(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "belonged to the catalog one") {
		t.Error(err)
	}
}
