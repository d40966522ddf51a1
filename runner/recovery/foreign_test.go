package recovery

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

// departing is a catalog whose runs end while it is asked for them: their directories are gone when it answers.
type departing struct {
	catalog.Catalog
	tmp string
}

func (d departing) List(_ context.Context, filter catalog.Filter) ([]catalog.Run, error) {
	if filter.ID == "other" {
		return nil, nil
	}
	run := catalog.Run{Key: catalog.Key{ID: filter.ID, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Complete}}
	return []catalog.Run{run}, os.RemoveAll(filepath.Join(d.tmp, lockdir.RunPrefix+filter.ID))
}

// A directory that a run took along when it ended is not another's, one that no run has is.
func TestFindForeignWhileARunEnds(t *testing.T) {
	tmp := t.TempDir()
	for _, id := range []string{"ends", "other"} {
		if err := os.Mkdir(filepath.Join(tmp, lockdir.RunPrefix+id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p := &pass{
		Host:   &phase.Host{Catalog: departing{tmp: tmp}, Tmp: tmp},
		access: &access{account: idmap.Account{UID: os.Getuid()}},
	}
	findForeign(t.Context(), p)
	want := []string{filepath.Join(tmp, lockdir.RunPrefix+"other")}
	if !slices.Equal(p.report.Foreign, want) || len(p.report.Errors) > 0 {
		t.Errorf("foreign are %v, want %v; errors %v", p.report.Foreign, want, p.report.Errors)
	}
}
