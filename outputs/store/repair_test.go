package store

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
)

// spoil damages blobs and removes every second one.
func spoil(t *testing.T, s Store, texts ...string) {
	t.Helper()
	for n, text := range texts {
		p, err := s.Blobs.Path(digest(text))
		must(t, err)
		must(t, os.Remove(p))
		if n%2 == 0 {
			must(t, os.WriteFile(p, []byte(fmt.Sprintf("%*s", len(text), "x")), 0o444))
		}
	}
}

func put(t *testing.T, text string, at ...string) {
	t.Helper()
	path := filepath.Join(at...)
	must(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must(t, os.WriteFile(path, []byte(text), 0o600))
}

// located is a catalog whose runs have this place and request.
type located struct {
	catalog.Catalog
	place, request map[string]string
}

func (b located) List(ctx context.Context, f catalog.Filter) ([]catalog.Run, error) {
	runs, err := b.Catalog.List(ctx, f)
	for i := range runs {
		runs[i].Place, _ = json.Marshal(b.place)
		runs[i].Request, _ = json.Marshal(b.request)
	}
	return runs, err
}

// repairAll checks with --repair and returns what was repaired from where, below top, and the problems.
func repairAll(t *testing.T, s Store, top string) (repaired map[string]string, problems []string, report Report) {
	t.Helper()
	repaired = map[string]string{}
	report, err := s.Check(t.Context(), Options{
		Host: "here", Digests: true, Repair: true,
		Repaired: func(sha256, from string) {
			rel, err := filepath.Rel(top, from)
			must(t, err)
			repaired[sha256] = rel
		},
		Problem: func(key catalog.Key, what string) { problems = append(problems, key.ID+": "+what) },
	})
	must(t, err)
	return repaired, problems, report
}

// TestRepair takes copies of the right digest from all places of a run, and nothing else from there.
func TestRepair(t *testing.T) {
	s, top := fresh(t), t.TempDir()
	kept, export, root := filepath.Join(top, "kept"), filepath.Join(top, "export"), filepath.Join(top, "root")
	run := finish(t, s, "a", 1, "in the kept directory", "in its work", "exported", "beside", "by a link", "changed", "of a FIFO", "whole")
	name := func(n int) string { return fmt.Sprintf("%d\n\xff", n) }
	put(t, "in the kept directory", kept, name(1))
	put(t, "in its work", kept, "work", name(2))
	put(t, "exported", export, name(3))
	other, err := blob.Open(filepath.Join(root, "blobs"))
	must(t, err)
	publish(t, other, "beside")
	put(t, "by a link", top, "elsewhere")
	must(t, os.Symlink(filepath.Join(top, "elsewhere"), filepath.Join(kept, name(5))))
	put(t, "CHANGED", kept, name(6))
	must(t, unix.Mkfifo(filepath.Join(kept, name(7)), 0o600))
	put(t, "script of a", top, "a.py")
	s.Catalog = located{
		s.Catalog,
		map[string]string{"dir": kept, "state": filepath.Join(root, "runs", "a@1.json")},
		map[string]string{"export": export, "script": filepath.Join(top, "a.py")},
	}
	spoil(t, s, "in the kept directory", "in its work", "exported", "beside", "by a link", "changed", "of a FIFO", "script of a")
	repaired, problems, report := repairAll(t, s, top)
	want := map[string]string{
		digest("in the kept directory"): "kept/" + name(1), digest("in its work"): "kept/work/" + name(2), digest("exported"): "export/" + name(3),
		digest("beside"): "root/blobs/sha256/" + digest("beside"), digest("script of a"): "a.py",
	}
	if !maps.Equal(repaired, want) || report.Repaired != int64(len(want)) || report.Problems != 3 || len(problems) != 3 {
		t.Errorf("of %v repaired %q, problems %q, report %+v", run.Key, repaired, problems, report)
	}
	for _, text := range []string{"in the kept directory", "in its work", "exported", "beside", "script of a"} {
		must(t, s.Blobs.Verify(t.Context(), digest(text)))
	}
	again, left, _ := repairAll(t, s, top)
	if len(again) > 0 || !slices.Equal(left, problems) {
		t.Errorf("the second time %q were repaired, problems %q", again, left)
	}
}

// TestRepairGoesOn: a failure to restore one blob does not stop the others.
func TestRepairGoesOn(t *testing.T) {
	s, top := fresh(t), t.TempDir()
	finish(t, s, "a", 1, "one", "two")
	put(t, "one", top, "1\n\xff")
	put(t, "two", top, "2\n\xff")
	s.Catalog = located{s.Catalog, map[string]string{"dir": top}, nil}
	spoil(t, s, "one", "two")
	in, err := s.Blobs.Path(digest("one"))
	must(t, err)
	must(t, os.Remove(in))
	must(t, os.Mkdir(in, 0o700))
	problems := 0
	report, err := s.Check(t.Context(), Options{
		Host: "here", Repair: true, Repaired: func(string, string) {}, Problem: func(catalog.Key, string) { problems++ },
	})
	if err == nil || report.Repaired != 1 || problems != 1 {
		t.Errorf("report %+v, %d problems, %v", report, problems, err)
	}
	must(t, s.Blobs.Verify(t.Context(), digest("two")))
}
