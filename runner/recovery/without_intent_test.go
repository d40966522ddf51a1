package recovery

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// A worker that is killed before its intent is written leaves a state file and a queued row. Nothing of that stays after gc, nor
// after what every command does, and the row stays queued.
func TestKilledBeforeTheIntent(t *testing.T) {
	for name, recover := range map[string]func(host *phase.Host) error{
		"gc":   func(host *phase.Host) error { _, err := GC(t.Context(), host, false, Retention{}); return err },
		"tidy": func(host *phase.Host) error { Tidy(t.Context(), host); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			cat, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "catalog.db"))
			if err != nil {
				t.Fatal(err)
			}
			defer cat.Close()
			blobs, err := blob.Open(filepath.Join(t.TempDir(), "blobs"))
			if err != nil {
				t.Fatal(err)
			}
			id, err := cat.CatalogID(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			host := &phase.Host{Catalog: cat, Blobs: blobs, Root: t.TempDir(), Tmp: t.TempDir(), Log: slog.New(slog.DiscardHandler)}
			run := catalog.Run{Key: catalog.Key{ID: "a", Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Queued}, CreatedAt: time.Now().UTC()}
			if err := cat.Create(t.Context(), run); err != nil {
				t.Fatal(err)
			}
			state, err := workspace.Lock(host.Root, run.Key)
			if err != nil {
				t.Fatal(err)
			}
			dead := &workspace.Launcher{PID: 1, StartTicks: 1, BootID: "another"}
			if err := state.Record(workspace.Location{Dir: workspace.RunDir(host.Tmp, "a"), Catalog: id, State: state.Path, Launcher: dead}); err != nil {
				t.Fatal(err)
			}
			if err := state.Close(); err != nil {
				t.Fatal(err)
			}
			if err := recover(host); err != nil {
				t.Error(err)
			}
			if _, err := os.Lstat(state.Path); !os.IsNotExist(err) {
				t.Errorf("its state file: %v", err)
			}
			if now, err := cat.Get(t.Context(), run.Key); err != nil || now.State != outcome.Queued {
				t.Errorf("its row: %s, %v", now.State, err)
			}
		})
	}
}
