package outputs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestHarvestEndsInTime harvests by a clock that only goes on while the test sleeps.
func TestHarvestEndsInTime(t *testing.T) {
	for _, c := range []struct {
		bounds Bounds
		limit  time.Duration
	}{
		{Bounds{MaxTime: time.Minute}, time.Minute},
		{Bounds{MaxBytes: 160 << 20, MaxEntries: 5000}, time.Hour + 15*time.Second},
		{Bounds{}, time.Hour + (64+100)*time.Second},
		{Bounds{MaxBytes: math.MaxInt64, MaxEntries: math.MaxInt64}, aCentury * time.Second},
	} {
		for late, took := range map[bool]time.Duration{false: c.limit - time.Nanosecond, true: c.limit} {
			dir, ingest := newTree(t), openDir(t, t.TempDir())
			manyFiles(t, dir, 3)
			work, seen := openDir(t, dir), 0
			synctest.Test(t, func(t *testing.T) {
				_, err := Harvest(t.Context(), work, Options{Bounds: c.bounds, Ingest: ingest}, func(Entry) error {
					if seen++; seen == 2 {
						time.Sleep(took)
						synctest.Wait()
					}
					return nil
				})
				if late != (err != nil && strings.Contains(err.Error(), "harvest: it took longer than "+c.limit.String())) {
					t.Errorf("after %v of %v: %v", took, c.limit, err)
				}
			})
			if want := map[bool]int{false: 3, true: 2}[late]; seen != want {
				t.Errorf("%d entries after %v, want %d", seen, took, want)
			}
		}
	}
}

// TestHarvestSaysWhyItEnded: if the caller ends it, the error says so and not that it took too long.
func TestHarvestSaysWhyItEnded(t *testing.T) {
	dir := newTree(t)
	manyFiles(t, dir, 3)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := Harvest(ctx, openDir(t, dir), Options{Ingest: openDir(t, t.TempDir())}, func(Entry) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "longer") {
		t.Error(err)
	}
}

func TestHarvestSparseFile(t *testing.T) {
	dir := newTree(t)
	f, err := os.Create(dir + "/sparse")
	must(t, err)
	must(t, f.Truncate(8<<40))
	must(t, f.Close())
	h := reap(t, dir, Options{})
	h.is("sparse", TooLarge)
	if h.totals.Bytes != 0 {
		t.Errorf("%+v", h.totals)
	}
}

func TestHarvestKeepsHoles(t *testing.T) {
	dir := newTree(t)
	f, err := os.Create(dir + "/holes")
	must(t, err)
	content := make([]byte, 1<<20)
	for _, at := range []int{0, 300_000, 700_001} {
		copy(content[at:], "data")
		_, err := f.WriteAt([]byte("data"), int64(at))
		must(t, err)
	}
	must(t, f.Truncate(1<<20))
	must(t, f.Close())
	h := reap(t, dir, Options{})
	e := h.is("holes", "")
	if e.SHA256 != digest(string(content)) {
		t.Error("wrong digest")
	}
	want, got := blocks(t, dir+"/holes"), blocks(t, filepath.Join(h.ingest, e.Ingest))
	if got > want {
		t.Errorf("copy takes %d blocks, the file takes %d", got, want)
	}
}

func blocks(t *testing.T, path string) int64 {
	t.Helper()
	dir := openDir(t, filepath.Dir(path))
	st, err := lstatAt(int(dir.Fd()), filepath.Base(path))
	must(t, err)
	return st.Blocks
}

func TestHarvestMaxBytes(t *testing.T) {
	dir := newTree(t)
	for i := range 5 {
		write0(t, fmt.Sprintf("%s/f%d", dir, i), strings.Repeat("x", 40))
	}
	write0(t, dir+"/big", strings.Repeat("x", 101))
	h := reap(t, dir, Options{Bounds: Bounds{MaxBytes: 100}})
	h.is("big", TooLarge)
	if h.totals.Outputs != 2 || h.totals.Rejected != 4 || h.totals.Bytes != 80 {
		t.Errorf("%+v", h.totals)
	}
}

// Files of exactly MaxBytes are taken.
func TestHarvestExactlyMaxBytes(t *testing.T) {
	for name, sizes := range map[string][]int{"one": {100}, "several": {60, 40}, "with an empty one": {0, 100, 0}} {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t)
			for i, size := range sizes {
				write0(t, fmt.Sprintf("%s/f%d", dir, i), strings.Repeat("x", size))
			}
			h := reap(t, dir, Options{Bounds: Bounds{MaxBytes: 100}})
			if h.totals.Outputs != int64(len(sizes)) || h.totals.Rejected != 0 || h.totals.Bytes != 100 {
				t.Errorf("%+v", h.totals)
			}
		})
	}
}

func TestHarvestMaxEntries(t *testing.T) {
	for _, tc := range []struct {
		files   int
		bound   int64
		outputs int64
		detail  string
	}{
		{files: 10, bound: 10, outputs: 10},
		{files: 11, bound: 10, outputs: 10, detail: "10 entries were harvested; this one and 0 after it were not"},
		{files: 50, bound: 10, outputs: 10, detail: "10 entries were harvested; this one and 39 after it were not"},
	} {
		dir := newTree(t)
		manyFiles(t, dir, tc.files)
		h := reap(t, dir, Options{Bounds: Bounds{MaxEntries: tc.bound}})
		if h.totals.Outputs != tc.outputs {
			t.Errorf("%+v: %+v", tc, h.totals)
		}
		var detail string
		for _, e := range h.entries {
			if e.Rejected == TooMany {
				detail = string(e.Detail)
			}
		}
		if detail != tc.detail {
			t.Errorf("got %q, want %q", detail, tc.detail)
		}
	}
}

func TestHarvestMaxEntriesCountsTheWholeRest(t *testing.T) {
	dir := newTree(t)
	for i := range 20 {
		manyFiles(t, mkdir(t, fmt.Sprintf("%s/d%02d/e", dir, i)), 5)
	}
	h := reap(t, dir, Options{Bounds: Bounds{MaxEntries: 30}}) // of 20*(2+5)
	for _, e := range h.entries {
		if e.Rejected == TooMany && strings.Contains(string(e.Detail), "this one and 109 after it") {
			return
		}
	}
	t.Errorf("%+v", h.entries)
}

func mkdir(t testing.TB, path string) string {
	t.Helper()
	must(t, os.MkdirAll(path, 0o755))
	return path
}

func TestHarvestMaxDepth(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a/b/file", "1")
	mkdir(t, dir+"/a/b/empty")
	write0(t, dir+"/a/b/c/d/e", "1")
	write0(t, dir+"/a/b/c/f", "1")
	h := reap(t, dir, Options{Bounds: Bounds{MaxDepth: 3}})
	h.only("a/b/file", "a/b/c")
	h.is("a/b/file", "")
	if e := h.is("a/b/c", TooDeep); string(e.Detail) != "3 levels; 3 below it" {
		t.Errorf("detail %q", e.Detail)
	}
}

func TestHarvestMaxPath(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/12345/789", "1")
	write0(t, dir+"/12345/7890", "1")
	write0(t, dir+"/1234567890/a", "1")
	h := reap(t, dir, Options{Bounds: Bounds{MaxPath: 9}})
	h.only("12345/789", "12345/7890", "1234567890")
	h.is("12345/789", "")
	h.is("12345/7890", Name)
	if e := h.is("1234567890", Name); !strings.Contains(string(e.Detail), "1 below it") {
		t.Errorf("detail %q", e.Detail)
	}
}

func TestHarvestDefaultDepthAndPath(t *testing.T) {
	dir := newTree(t)
	deep(t, dir, 300, "d")
	deep(t, dir, 30, strings.Repeat("n", 200))
	h := reap(t, dir, Options{})
	at := strings.Repeat("d/", 255) + "d"
	if e := h.is(at, TooDeep); string(e.Detail) != "256 levels; 45 below it" {
		t.Errorf("detail %q", e.Detail)
	}
	var long int
	for p, e := range h.entries {
		if e.Rejected == Name && len(p) == 21*201-1 {
			long++
		}
	}
	if long != 1 || len(h.entries) != 2 {
		t.Errorf("%d verdicts, %d on the long path", len(h.entries), long)
	}
}
