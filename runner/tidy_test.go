package runner

import (
	"fmt"
	"log/slog"
	"os"
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

// holdDead takes the lock of what is surely left by a dead run, and touches nothing else.
func TestHoldDead(t *testing.T) {
	key := catalog.Key{ID: "a", Attempt: 1}
	write := func(content string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	for name, tt := range map[string]struct {
		make func(path string) error
		dead bool
	}{
		"nothing":         {func(string) error { return nil }, false},
		"of a beginning":  {write(""), false},
		"left":            {write(`{"dir":"/tmp/x"}`), true},
		"damaged":         {write("x"), true},
		"a symbolic link": {func(path string) error { return os.Symlink(filepath.Dir(path), path) }, false},
		"another user's": {func(path string) error {
			if os.Geteuid() != 0 {
				return os.WriteFile(path, []byte("x"), 0) // as unreadable as one
			}
			if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
				return err
			}
			return os.Lchown(path, 65534, 65534)
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			if err := os.Mkdir(filepath.Join(root, "runs"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := tt.make(workspace.StatePath(root, key)); err != nil {
				t.Fatal(err)
			}
			before, _ := os.Lstat(workspace.StatePath(root, key))
			held, err := holdDead(root, key, os.Geteuid())
			if held == nil == tt.dead || err != nil && name != "a symbolic link" {
				t.Fatalf("%v, %v", held, err)
			}
			if after, _ := os.Lstat(workspace.StatePath(root, key)); (before == nil) != (after == nil) {
				t.Errorf("before %v, after %v", before, after)
			}
			if held == nil {
				return
			}
			if other, err := holdDead(root, key, os.Geteuid()); other != nil || err != nil {
				t.Errorf("a second one gets %v, %v", other, err)
			}
			if err := held.Remove(); err != nil {
				t.Error(err)
			}
		})
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
