package outputs

import (
	"context"
	"fmt"
	"math"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

var unbounded = Extent{math.MaxInt64, math.MaxInt64}

func measured(t *testing.T, dir string, links map[string]string, most Extent, unnamed ...Inode) Extent {
	t.Helper()
	root := openDir(t, dir)
	before := descriptors(t)
	got, whole, err := NewRuler(root, links, false).Measure(context.Background(), most, unnamed)
	must(t, err)
	if !whole {
		t.Error("not whole, though nothing was moved")
	}
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	still, _, err := NewRuler(root, links, true).Measure(context.Background(), most, unnamed)
	must(t, err)
	if still != got {
		t.Errorf("%+v, and %+v where nothing moves", got, still)
	}
	return got
}

func TestMeasure(t *testing.T) {
	dir := newTree(t)
	outside := t.TempDir()
	write0(t, outside+"/large", string(make([]byte, 1<<20)))
	links := map[string]string{"data": "/data", "docs": "/docs"}
	must(t, os.Symlink("/data", dir+"/data"))
	if got := measured(t, dir, links, unbounded); got != (Extent{}) {
		t.Errorf("nothing but a link of ours: %+v", got)
	}
	must(t, os.Symlink("elsewhere", dir+"/docs")) // no link of scidex-oci's
	must(t, os.Symlink(outside, dir+"/out"))      // not followed
	write0(t, dir+"/file", string(make([]byte, 100<<10)))
	mkdir(t, dir+"/sub")
	must(t, os.WriteFile(dir+"/sub/sparse", nil, 0o600))
	must(t, os.Truncate(dir+"/sub/sparse", 1<<30))
	must(t, unix.Mkfifo(dir+"/sub/fifo", 0o600))
	for i := range 50 {
		must(t, os.Link(dir+"/file", fmt.Sprintf("%s/sub/name-%d", dir, i)))
	}
	want := Extent{Files: 6 + 50, Bytes: blocks(t, dir+"/file")*512 + blocks(t, dir+"/sub")*512}
	if got := measured(t, dir, links, unbounded); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	var st unix.Stat_t
	must(t, unix.Stat(dir+"/file", &st))
	known, lost := Inode{st.Dev, st.Ino, 5}, Inode{st.Dev, st.Ino + 1<<40, 7}
	want.Files, want.Bytes = want.Files+2, want.Bytes+7+5-blocks(t, dir+"/file")*512
	if got := measured(t, dir, links, unbounded, known, lost); got != want { // an inode counts once
		t.Errorf("with unnamed inodes: %+v, want %+v", got, want)
	}
}

func TestMeasureEndsAtTheBound(t *testing.T) {
	dir := newTree(t)
	manyFiles(t, dir, 500)
	if got := measured(t, dir, nil, Extent{40, math.MaxInt64}); got.Files != 41 {
		t.Errorf("%+v, want 41 names", got)
	}
	write0(t, dir+"/x", "x")
	write0(t, dir+"/y", "y")
	if got := measured(t, dir, nil, Extent{math.MaxInt64, 1}); got.Bytes <= 1 || got.Files > 500 {
		t.Errorf("%+v", got)
	}
}

func TestMeasureOfADeepTreeNeedsFewDescriptors(t *testing.T) {
	abysmal, dir := newTree(t), newTree(t)
	deep(t, abysmal, abyss, "d")
	if got := measured(t, abysmal, nil, unbounded); got.Files != abyss+1 { // and the file at its end
		t.Errorf("%+v", got)
	}
	deep(t, dir, 500, "d")
	most := mostDescriptors(t, func(look func()) {
		_, _, err := NewRuler(openDir(t, dir), nil, false).Measure(looking{context.Background(), look}, unbounded, nil)
		must(t, err)
	})
	if most > heldDirs+5 {
		t.Errorf("%d descriptors", most)
	}
}

// looking is a context that looks at each step.
type looking struct {
	context.Context
	look func()
}

func (l looking) Err() error { l.look(); return l.Context.Err() }

// TestMeasureWhileTheTreeMoves moves files, and directories with files, from one place to another as fast as
// it can: none ever counts twice.
func TestMeasureWhileTheTreeMoves(t *testing.T) {
	dir := newTree(t)
	const files = 300
	a, b := mkdir(t, dir+"/a"), mkdir(t, dir+"/b")
	for i := range files {
		write0(t, fmt.Sprintf("%s/%d", a, i), "x")
	}
	deep(t, a, 2*heldDirs, "d") // deeper than what stays open
	want := measured(t, dir, nil, unbounded)
	done, moved := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(moved)
		for {
			for i := range files {
				select {
				case <-done:
					return
				default:
				}
				_ = os.Rename(fmt.Sprintf("%s/%d", a, i), fmt.Sprintf("%s/%d", b, i))
				_ = os.Rename(a+"/d", b+"/d")
			}
			a, b = b, a
		}
	}()
	ruler := NewRuler(openDir(t, dir), nil, false)
	seen := Extent{}
	for range 300 {
		got, _, err := ruler.Measure(context.Background(), unbounded, nil)
		must(t, err)
		if got.Files > want.Files {
			t.Fatalf("%d names were counted of %d", got.Files, want.Files)
		}
		seen = seen.Peak(got)
	}
	close(done)
	<-moved
	if seen.Files <= want.Files/2 {
		t.Errorf("at most %d names of %d were ever seen", seen.Files, want.Files)
	}
}

func TestAllocated(t *testing.T) {
	for _, c := range []struct{ blocks, size, want int64 }{
		{8, 1, 4096},                          // a block for a byte
		{0, 8 << 40, 0},                       // a hole
		{256, 1, 1 + 64<<10},                  // put aside behind the end, beyond the margin
		{2048, 1<<20 - 5, 1 << 20},            // whole blocks
		{8 << 20, 1 << 30, 1<<30 + 64<<10},    // XFS, growing
		{1 << 10, 100 << 20, 512 << 10},       // mostly holes
		{16, 4096, 8192},                      // a block of attributes
		{1 << 30, math.MaxInt64 / 2, 1 << 39}, // no overflow
	} {
		if got := Allocated(c.blocks, c.size); got != c.want {
			t.Errorf("%d blocks, %d bytes: %d, want %d", c.blocks, c.size, got, c.want)
		}
	}
}

func TestCarry(t *testing.T) {
	src, dst := newTree(t), newTree(t)
	write0(t, src+"/a/b", "b")
	must(t, os.Symlink("/etc/shadow", src+"/a/link"))
	must(t, unix.Mkfifo(src+"/fifo", 0o600))
	write0(t, src+"/large", string(make([]byte, 1000)))
	left, err := Carry(context.Background(), openDir(t, src), openDir(t, dst), Bounds{MaxBytes: 999})
	must(t, err)
	got := map[string]Reason{}
	for _, e := range left {
		got[string(e.Path)] = e.Rejected
	}
	if len(got) != 2 || got["fifo"] != FIFO || got["large"] != TooLarge {
		t.Errorf("left behind: %v", got)
	}
	if target, err := os.Readlink(dst + "/a/link"); err != nil || target != "/etc/shadow" {
		t.Errorf("a symlink became %q, %v", target, err)
	}
	if content, err := os.ReadFile(dst + "/a/b"); err != nil || string(content) != "b" {
		t.Errorf("a/b is %q, %v", content, err)
	}
}
