package recovery

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// readOnlyRole is a catalog whose role may not delete.
type readOnlyRole struct{ catalog.Catalog }

var errMayNot = errors.New("the role may not delete")

func (readOnlyRole) MayDelete(context.Context) error { return errMayNot }

// A role that may not delete gets that error before the kept directory is removed.
func TestRemoveWithoutTheRight(t *testing.T) {
	cat, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer cat.Close()
	blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	kept := t.TempDir()
	var st syscall.Stat_t
	if err := syscall.Stat(kept, &st); err != nil {
		t.Fatal(err)
	}
	place, err := json.Marshal(workspace.Location{Dir: kept, Dev: st.Dev, Ino: st.Ino})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	run := catalog.Run{Key: catalog.Key{ID: "a", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: now, Place: place}
	if err := cat.Create(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	run.State, run.FinishedAt = outcome.Complete, now
	if err := cat.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }); err != nil {
		t.Fatal(err)
	}
	r := &phase.Host{Catalog: readOnlyRole{cat}, Blobs: blobs, Root: t.TempDir(), Tmp: t.TempDir()}
	if err := Remove(t.Context(), r, run.Key); !errors.Is(err, errMayNot) {
		t.Errorf("Remove = %v, want %v", err, errMayNot)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Errorf("the kept directory: %v", err)
	}
}
