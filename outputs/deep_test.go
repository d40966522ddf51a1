package outputs

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
)

const abyss = 20_000

func TestHarvestOfADeepTreeNeedsFewDescriptors(t *testing.T) {
	dir := newTree(t)
	deep(t, dir, abyss, "d")
	write0(t, dir+"/z", "1")
	h := reap(t, dir, Options{Bounds: Bounds{MaxDepth: abyss + 10, MaxPath: 10 * abyss}})
	if h.totals.Outputs != 2 || len(h.entries) != 2 {
		t.Errorf("%+v", h.totals)
	}
}

func TestWalkOfADeepTreeNeedsFewDescriptors(t *testing.T) {
	dir := newTree(t)
	deep(t, dir, 500, "d")
	work := openDir(t, dir)
	most := mostDescriptors(t, func(look func()) {
		w, err := newWalk(work)
		must(t, err)
		defer w.close()
		for {
			name, ok, err := w.next()
			must(t, err)
			look()
			switch {
			case ok:
				st, err := lstatAt(w.fd(), name)
				must(t, err)
				if st.Mode&0o170000 == 0o040000 {
					must(t, w.enter(name, st))
				}
			case w.depth() == 0:
				return
			default:
				must(t, w.leave())
			}
		}
	})
	if most > heldDirs+4 {
		t.Errorf("%d descriptors", most)
	}
}

func TestWalkGoesOnWhereItWas(t *testing.T) {
	// Below each of many siblings the chain is longer than heldDirs, so the top directories are closed
	// and opened again in the middle of their reading.
	dir := newTree(t)
	want := int64(0)
	for i := range 100 {
		chain := mkdir(t, dir+"/a/b/s"+string(rune('0'+i%10))+digest(string(rune(i)))[:40])
		deep(t, chain, heldDirs+3, "d")
		want++
	}
	manyFiles(t, dir+"/a/b", 3000)
	h := reap(t, dir, Options{})
	if h.totals.Outputs != want+3000 || h.totals.Rejected != 0 {
		t.Errorf("%+v", h.totals)
	}
}

func TestEmptyDeepTree(t *testing.T) {
	dir := t.TempDir()
	deep(t, dir, abyss, "d")
	deep(t, dir, 40, "e")
	work := openDir(t, dir)
	before := descriptors(t)
	must(t, Empty(context.Background(), work))
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestWalkAboveAMovedDirectory(t *testing.T) {
	dir := newTree(t)
	deep(t, mkdir(t, dir+"/a/b"), heldDirs+5, "d")
	write0(t, dir+"/z", "1")
	w, err := newWalk(openDir(t, dir))
	must(t, err)
	defer w.close()
	for {
		name, ok, err := w.next()
		must(t, err)
		if !ok {
			break
		}
		st, err := lstatAt(w.fd(), name)
		must(t, err)
		if name == "end" || name == "z" {
			continue
		}
		must(t, w.enter(name, st))
	}
	// The walk is at the end of the chain. A directory above it is moved away, and another one gets its name.
	must(t, os.Rename(dir+"/a/b/d", dir+"/moved"))
	must(t, os.Rename(dir+"/a/b", dir+"/moved too"))
	mkdir(t, dir+"/a/b/d")
	var lost []string
	for w.depth() > 0 {
		var l *lostError
		if err := w.leave(); errors.As(err, &l) {
			lost = append(lost, string(l.path))
		} else {
			must(t, err)
		}
	}
	if !slices.Equal(lost, []string{"a/b"}) {
		t.Errorf("lost %q", lost)
	}
	if string(w.path) != "" {
		t.Errorf("path %q", w.path)
	}
}
