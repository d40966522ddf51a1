package recovery

import (
	"context"
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

// If no run is dead, the catalog is not asked and nothing changes.
func TestTidyIgnoresLiveRuns(t *testing.T) {
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

// A supervisor that holds an ingest directory is waited for, unless the time of the command is over.
func TestUntilFree(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		ctx          context.Context
		held, sweeps int
	}{{t.Context(), 0, 1}, {t.Context(), 2, 3}, {over, 2, 1}} {
		sweeps := 0
		untilFree(c.ctx, func() []string {
			sweeps++
			return make([]string, max(c.held-sweeps+1, 0))
		})
		if sweeps != c.sweeps {
			t.Errorf("held %d times, it swept %d times, want %d", c.held, sweeps, c.sweeps)
		}
	}
}
