package recovery

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
)

// livesAndMore is a runner without a catalog whose root has n live runs, and what else may be among state files and is
// no dead run. What it logs goes to log.
func livesAndMore(t testing.TB, n int, log *strings.Builder) *phase.Host {
	t.Helper()
	r := &phase.Host{Root: t.TempDir(), Log: slog.New(slog.NewTextHandler(log, nil))}
	for i := range n {
		held, err := workspace.Lock(r.Root, catalog.Key{ID: fmt.Sprint("live-", i), Attempt: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = held.Remove() })
		if err := held.Record(workspace.Location{Dir: "/tmp/x"}); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// Where nobody is dead nothing is asked of the catalog, and nothing changes.
func TestTidyOfTheLiving(t *testing.T) {
	var log strings.Builder
	for _, n := range []int{0, 20} {
		r := livesAndMore(t, n, &log)
		Tidy(t.Context(), r) // its catalog is nil
		if left, _ := filepath.Glob(filepath.Join(r.Root, "runs", "*")); len(left) != n || log.Len() > 0 {
			t.Errorf("of %d there are %d, it said %q", n, len(left), &log)
		}
	}
}

// BenchmarkTidy is what every command that writes pays.
func BenchmarkTidy(b *testing.B) {
	for _, n := range []int{0, 20, 200} {
		b.Run(fmt.Sprintf("%d live", n), func(b *testing.B) {
			r := livesAndMore(b, n, &strings.Builder{})
			for b.Loop() {
				Tidy(b.Context(), r)
			}
		})
	}
}
