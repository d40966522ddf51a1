package outputs

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestHarvestOrdinaryTree(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/summary.csv", "a,b\n1,2\n")
	write0(t, dir+"/plots/one.svg", "<svg/>")
	write0(t, dir+"/empty.bin", "")
	must(t, os.Mkdir(dir+"/nothing", 0o755))
	must(t, os.Chmod(dir+"/empty.bin", 0o4755))
	h := reap(t, dir, Options{})
	h.only("summary.csv", "plots/one.svg", "empty.bin")
	e := h.is("summary.csv", "")
	if e.SHA256 != digest("a,b\n1,2\n") || e.Size != 8 || e.MediaType != "text/csv" || e.Mode != 0o644 || e.Partial {
		t.Errorf("%+v", e)
	}
	if e := h.is("empty.bin", ""); e.Mode != 0o755 || e.SHA256 != digest("") {
		t.Errorf("%+v", e)
	}
	if want := (Totals{Outputs: 3, Bytes: 14}); h.totals != want {
		t.Errorf("got %+v, want %+v", h.totals, want)
	}
}

func TestHarvestPartial(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	if e := reap(t, dir, Options{Partial: true}).is("a", ""); !e.Partial {
		t.Errorf("%+v", e)
	}
}

func TestHarvestNeverFollowsSymlinks(t *testing.T) {
	outside := t.TempDir()
	write0(t, outside+"/secret", "secret")
	dir := newTree(t)
	write0(t, dir+"/real/file", "1")
	links := map[string]string{
		"final": outside + "/secret", "directory": outside, "inner": "real", "loop": "loop",
		"self": ".", "fd": "/proc/self/fd/0", "up": "../../../../etc/passwd", "dangling": "nowhere",
		"bytes": "a\n\x1b\xff", "data": "/etc", "docs": "/docs", "real/data": "/data",
	}
	for name, target := range links {
		must(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	h := reap(t, dir, Options{Links: map[string]string{"data": "/data", "docs": "/docs"}})
	delete(links, "docs") // scidex-oci's own: exactly this name, target and place
	for name, target := range links {
		if e := h.is(name, Symlink); string(e.Detail) != "-> "+target {
			t.Errorf("%s: detail %q", name, e.Detail)
		}
	}
	h.is("real/file", "")
	if _, ok := h.entries["docs"]; ok {
		t.Error("our own link has a verdict")
	}
	if len(h.entries) != len(links)+1 {
		t.Errorf("%d verdicts", len(h.entries))
	}
}

func TestHarvestNeverOpensSpecialFiles(t *testing.T) {
	dir := newTree(t)
	must(t, unix.Mkfifo(dir+"/fifo", 0o644))
	t.Chdir(dir) // the path of a socket is short
	l, err := net.Listen("unix", "socket")
	must(t, err)
	defer l.Close()
	h := reap(t, dir, Options{})
	h.is("fifo", FIFO)
	h.is("socket", Socket)
	h.only("fifo", "socket")
}

func TestHarvestDevice(t *testing.T) {
	var st unix.Stat_t
	must(t, unix.Stat("/dev/null", &st))
	dev := openDir(t, "/dev")
	err := special(int(dev.Fd()), "null", &st)
	var r *refusal
	if !errors.As(err, &r) || r.reason != Device || r.detail != "character device 1:3" {
		t.Errorf("%v", err)
	}
}

func TestHarvestNames(t *testing.T) {
	names := []string{
		"new\nline", "\x1b[31mred", "\xff\xfe", strings.Repeat("x", 255), "-rf", "--", " ", "...", "..a",
		"\u202egpj.exe", "a\\b", "*", "~", "ü",
	}
	dir := newTree(t)
	for _, n := range names {
		write0(t, dir+"/d/"+n, n)
	}
	h := reap(t, dir, Options{})
	for _, n := range names {
		if e := h.is("d/"+n, ""); e.SHA256 != digest(n) {
			t.Errorf("%q: wrong contents", n)
		}
	}
	if len(h.entries) != len(names) {
		t.Errorf("%d verdicts", len(h.entries))
	}
}

func TestHarvestHardlinks(t *testing.T) {
	outside := t.TempDir()
	write0(t, outside+"/secret", "secret")
	dir := newTree(t)
	write0(t, dir+"/a/one.csv", "same")
	must(t, os.Link(dir+"/a/one.csv", dir+"/two.txt"))
	must(t, os.Link(outside+"/secret", dir+"/stolen"))
	write0(t, dir+"/half.txt", "half")
	must(t, os.Link(dir+"/half.txt", dir+"/half.pyc"))
	h := reap(t, dir, Options{Exclude: []string{"*.pyc"}})
	h.only("a/one.csv", "two.txt", "stolen", "half.txt", "half.pyc")
	one, two := h.is("a/one.csv", ""), h.is("two.txt", "")
	if one.SHA256 != digest("same") || two.SHA256 != one.SHA256 || two.Ingest != one.Ingest {
		t.Errorf("%+v %+v", one, two)
	}
	if one.MediaType != "text/csv" || two.MediaType != "text/plain" {
		t.Errorf("media types %s, %s", one.MediaType, two.MediaType)
	}
	if e := h.is("stolen", Hardlink); string(e.Detail) != "1 of its 2 names were found" {
		t.Errorf("detail %q", e.Detail)
	}
	h.is("half.pyc", Excluded)
	h.is("half.txt", "") // its other name was found, though it is no output
	if h.totals.Bytes != 8 {
		t.Errorf("%d bytes: an inode counts once", h.totals.Bytes)
	}
}

func TestHarvestExclude(t *testing.T) {
	dir := newTree(t)
	for _, p := range []string{"a.pyc", "x/b.pyc", "x/__pycache__/c", "x/keep.py", "out/tmp/d", "tmp/e"} {
		write0(t, dir+"/"+p, p)
	}
	must(t, os.Symlink("/etc/shadow", dir+"/link.pyc"))
	h := reap(t, dir, Options{Exclude: []string{"__pycache__", "*.pyc", "out/**/d", "./tmp/"}})
	h.is("a.pyc", Excluded)
	h.is("x/b.pyc", Excluded)
	h.is("x/__pycache__", Excluded)
	h.is("out/tmp", Excluded)
	h.is("tmp", Excluded)
	h.is("x/keep.py", "")
	h.is("link.pyc", Symlink) // a glob hides no attack
	if len(h.entries) != 7 {
		t.Errorf("%d verdicts", len(h.entries))
	}
	_, err := Harvest(context.Background(), openDir(t, dir), Options{Exclude: []string{"[a"}}, nil)
	if err == nil || !strings.Contains(err.Error(), `"[a"`) {
		t.Errorf("%v", err)
	}
}

func TestHarvestUnreadable(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/file", "1")
	write0(t, dir+"/sub/inner", "1")
	must(t, os.Chmod(dir+"/file", 0))
	must(t, os.Chmod(dir+"/sub", 0))
	h := reap(t, dir, Options{})
	if os.Geteuid() == 0 { // root reads what the analysis made unreadable
		if e := h.is("file", ""); e.Mode != 0 {
			t.Errorf("%+v", e)
		}
		h.is("sub/inner", "")
		return
	}
	if e := h.is("file", Unreadable); !strings.Contains(string(e.Detail), "EACCES") {
		t.Errorf("%q", e.Detail)
	}
	h.is("sub", Unreadable)
}

// TestVerdictNeedsEvidence: no errno of the kernel is a verdict on an ordinary file.
func TestVerdictNeedsEvidence(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/file", "1")
	must(t, os.Chmod(dir+"/file", 0o400))
	mkdir(t, dir+"/sub")
	write0(t, dir+"/closed", "1")
	must(t, os.Chmod(dir+"/closed", 0o200))
	mkdir(t, dir+"/closed-sub")
	must(t, os.Chmod(dir+"/closed-sub", 0o400))
	work := int(openDir(t, dir).Fd())
	for errno := unix.Errno(1); errno < 134; errno++ { // EHWPOISON is the last
		for _, name := range []string{"file", "sub", "closed", "closed-sub"} {
			st, err := lstatAt(work, name)
			must(t, err)
			var r *refusal
			verdict := errors.As(proven(work, name, st, fmt.Errorf("open: %w", errno)), &r)
			if want := errno == unix.EACCES && strings.HasPrefix(name, "closed"); verdict != want {
				t.Errorf("%s: %s is a verdict: %v", unix.ErrnoName(errno), name, verdict)
			}
		}
		for in, closed := range map[string]bool{"sub": false, "closed-sub": true} {
			st, err := lstatAt(work, in)
			must(t, err)
			fd, err := openSame(work, in, st, unix.O_PATH)
			must(t, err)
			var r *refusal
			verdict := errors.As(proven(fd, "x", nil, errno), &r)
			unix.Close(fd)
			if want := errno == unix.EACCES && closed; verdict != want {
				t.Errorf("%s: an entry of %s that cannot be looked at is a verdict: %v", unix.ErrnoName(errno), in, verdict)
			}
		}
	}
}

func TestHarvestYieldErrorEndsIt(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	write0(t, dir+"/b", "1")
	stop, calls := errors.New("stop"), 0
	_, err := Harvest(context.Background(), openDir(t, dir), Options{Ingest: openDir(t, t.TempDir())},
		func(Entry) error { calls++; return stop })
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

func TestHarvestCancel(t *testing.T) {
	dir := newTree(t)
	manyFiles(t, dir, 20)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := Harvest(ctx, openDir(t, dir), Options{Ingest: openDir(t, t.TempDir())}, func(Entry) error {
		if n++; n == 5 {
			cancel()
		}
		return nil
	})
	if !errors.Is(err, context.Canceled) || n != 5 {
		t.Errorf("%v after %d entries", err, n)
	}
}

func TestHarvestFullDisk(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	defer full.Close()
	src, err := os.Open(dir + "/a")
	must(t, err)
	defer src.Close()
	st, err := lstatAt(int(openDir(t, dir).Fd()), "a")
	must(t, err)
	_, err = newCopier().copy(context.Background(), int(src.Fd()), st, full)
	var r *refusal
	if !errors.Is(err, unix.ENOSPC) || errors.As(err, &r) {
		t.Errorf("a full disk must end the harvest and be no verdict: %v", err)
	}
}

func TestHarvestAgainIntoTheSameIngest(t *testing.T) {
	dir := newTree(t)
	write0(t, dir+"/a", "1")
	ingest := t.TempDir()
	write0(t, ingest+"/000001", "left by an interrupted harvest")
	var got []Entry
	_, err := Harvest(context.Background(), openDir(t, dir), Options{Ingest: openDir(t, ingest)}, func(e Entry) error {
		got = append(got, e)
		return nil
	})
	if err != nil || len(got) != 1 || got[0].Ingest != "000002" {
		t.Errorf("%v %+v", err, got)
	}
}

// TestHarvestComparesNames: a tree that lists more or fewer names than at its measurement is not harvested as whole.
func TestHarvestComparesNames(t *testing.T) {
	for name, c := range map[string]struct {
		opts   Options
		change func(dir string) error
		fails  bool
	}{
		"same":                {},
		"one less":            {change: func(dir string) error { return os.Remove(dir + "/a/b/c/file") }, fails: true},
		"one more":            {change: func(dir string) error { return os.WriteFile(dir+"/new", nil, 0o600) }, fails: true},
		"deep":                {opts: Options{Bounds: Bounds{MaxDepth: 2}}},
		"one less, deep":      {opts: Options{Bounds: Bounds{MaxDepth: 2}}, change: func(dir string) error { return os.Remove(dir + "/a/b/c/file") }, fails: true},
		"many":                {opts: Options{Bounds: Bounds{MaxEntries: 2}}},
		"a file is left out":  {opts: Options{Exclude: []string{"file"}}},
		"directory left out":  {opts: Options{Exclude: []string{"b"}}}, // what is in it is not counted
		"link of the program": {opts: Options{Links: map[string]string{"data": "/data"}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := newTree(t)
			write0(t, dir+"/a/b/c/file", "x")
			write0(t, dir+"/a/file", "y")
			must(t, os.Link(dir+"/a/file", dir+"/again"))
			must(t, os.Symlink("/data", dir+"/data"))
			c.opts.Names = measured(t, dir, c.opts.Links, unbounded).Files
			if c.change != nil {
				must(t, c.change(dir))
			}
			c.opts.Ingest = openDir(t, t.TempDir())
			_, err := Harvest(t.Context(), openDir(t, dir), c.opts, func(Entry) error { return nil })
			if c.fails != (err != nil) || err != nil && !strings.Contains(err.Error(), "names are listed now") {
				t.Errorf("error %v", err)
			}
		})
	}
}
