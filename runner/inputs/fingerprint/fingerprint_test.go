package fingerprint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
)

// tree is a directory with something of each kind in it.
func tree(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	inodetest.Try(t,
		os.MkdirAll(dir+"/a/b", 0o755),
		os.WriteFile(dir+"/a/b/one", []byte("1"), 0o644),
		os.WriteFile(dir+"/a-b", []byte("2"), 0o755),
		os.WriteFile(dir+"/a/empty", nil, 0o644),
		os.Symlink("a/b", dir+"/link"))
	return dir
}

func of(t *testing.T, m Maker, path string, kind Kind) (Print, error) {
	t.Helper()
	f, err := inode.Open(path)
	inodetest.Try(t, err)
	defer f.Close()
	return m.Of(t.Context(), f, kind)
}

func must(t *testing.T, m Maker, path string, kind Kind) Print {
	t.Helper()
	p, err := of(t, m, path, kind)
	inodetest.Try(t, err)
	return p
}

// TestContentIsTheSameEverywhere holds the form, as another program makes it: another digest for the same tree would make every recorded one wrong.
func TestContentIsTheSameEverywhere(t *testing.T) {
	const want = "23319e19e1b203a4e506e9c72b9c4cf71e50b0d4c20813880f9512d5eb7d8cfd"
	for range 2 {
		if got := must(t, Maker{}, tree(t), Content); got.SHA256 != want || got.Files != 3 || got.Bytes != 2 {
			t.Errorf("fingerprint %+v, want %s", got, want)
		}
	}
}

// TestEveryChangeShows: each of these makes another digest of the content, or of the listing, or of both.
func TestEveryChangeShows(t *testing.T) {
	for name, c := range map[string]struct {
		change           func(dir string) error
		content, listing bool
	}{
		"nothing":            {func(string) error { return nil }, false, false},
		"other bytes":        {func(d string) error { return os.WriteFile(d+"/a/b/one", []byte("3"), 0o644) }, true, true},
		"the same bytes":     {func(d string) error { return os.WriteFile(d+"/a/b/one", []byte("1"), 0o644) }, false, true},
		"a new name":         {func(d string) error { return os.Rename(d+"/a-b", d+"/c") }, true, true},
		"a new file":         {func(d string) error { return os.WriteFile(d+"/a/b/two", nil, 0o644) }, true, true},
		"an empty directory": {func(d string) error { return os.Mkdir(d+"/a/c", 0o755) }, true, true},
		"a file less":        {func(d string) error { return os.Remove(d + "/a/empty") }, true, true},
		"another target":     {func(d string) error { return errors.Join(os.Remove(d+"/link"), os.Symlink("a", d+"/link")) }, true, true},
		"executable":         {func(d string) error { return os.Chmod(d+"/a/b/one", 0o755) }, true, true},
		"an old time":        {func(d string) error { return os.Chtimes(d+"/a/b/one", time.Unix(1, 0), time.Unix(1, 0)) }, false, true},
		"moved up":           {func(d string) error { return os.Rename(d+"/a/b", d+"/b") }, true, true},
		"a file for a dir":   {func(d string) error { return errors.Join(os.RemoveAll(d+"/a/b"), os.WriteFile(d+"/a/b", nil, 0o644)) }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := tree(t)
			content, listing := must(t, Maker{}, dir, Content), must(t, Maker{}, dir, Listing)
			tick(t)
			inodetest.Try(t, c.change(dir))
			if got := must(t, Maker{}, dir, Content).SHA256 != content.SHA256; got != c.content {
				t.Errorf("content changed: %v", got)
			}
			after := must(t, Maker{}, dir, Listing)
			if got := after.SHA256 != listing.SHA256; got != c.listing {
				t.Errorf("listing changed: %v", got)
			}
			if c.listing != after.Newest.After(listing.Newest) {
				t.Errorf("newest %v, then %v", listing.Newest, after.Newest)
			}
		})
	}
}

// tick waits until the kernel stamps changes with another time: its clock may stand still for 10 ms.
func tick(t *testing.T) {
	t.Helper()
	time.Sleep(20 * time.Millisecond)
}

func TestSingleFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	inodetest.Try(t, os.WriteFile(file, []byte("text\n"), 0o644))
	want := fmt.Sprintf("%x", sha256.Sum256([]byte("text\n")))
	for _, kind := range []Kind{Content, Listing} {
		if got := must(t, Maker{}, file, kind); got.SHA256 != want || got.Bytes != 5 || got.Files != 1 {
			t.Errorf("%s: %+v", kind, got)
		}
	}
}

func TestRefusals(t *testing.T) {
	deep := t.TempDir()
	at, err := os.Open(deep)
	inodetest.Try(t, err)
	for range maxDepth + 1 {
		inodetest.Try(t, unix.Mkdirat(int(at.Fd()), "d", 0o755))
		fd, err := unix.Openat(int(at.Fd()), "d", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		inodetest.Try(t, err, at.Close())
		at = os.NewFile(uintptr(fd), "d")
	}
	at.Close()
	if _, err := of(t, Maker{}, deep, Listing); err == nil || !strings.Contains(err.Error(), "256 directories") {
		t.Errorf("error %v", err)
	}
	if os.Geteuid() == 0 {
		t.Log("root reads everything: the unreadable file is tried as another user")
		return
	}
	dir := tree(t)
	inodetest.Try(t, os.Chmod(dir+"/a/b/one", 0))
	if _, err := of(t, Maker{}, dir, Content); !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), `"a/b/one"`) {
		t.Errorf("error %v", err)
	}
}

func TestEndsWithItsContext(t *testing.T) {
	f, err := inode.Open(tree(t))
	inodetest.Try(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := (Maker{}).Of(ctx, f, Content); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestFailedLeavesNothing: of a fingerprint that was not finished nothing is left where fingerprints are remembered.
func TestFailedLeavesNothing(t *testing.T) {
	dir := tree(t)
	skipUntimely(t, dir)
	m := Maker{Dir: t.TempDir()}
	f, err := inode.Open(dir)
	inodetest.Try(t, err)
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Of(ctx, f, Content); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	if left, err := os.ReadDir(m.Dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	must(t, m, dir, Content)
	if kept, err := os.ReadDir(m.Dir); err != nil || len(kept) != 1 {
		t.Errorf("of one that was finished there is %v, %v", kept, err)
	}
}

// TestUnchangedFilesAreNotRead: what is remembered costs only the walk, as the kernel counts the bytes that were read.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	const size = 4 << 20
	dir := tree(t)
	for _, name := range []string{"/big", "/a/big", "/z"} {
		inodetest.Try(t, os.WriteFile(dir+name, bytes.Repeat([]byte(name[:2]), size/2), 0o644))
	}
	skipUntimely(t, dir)
	m := Maker{Dir: t.TempDir()}
	plain := must(t, Maker{}, dir, Content)
	if fresh := must(t, m, dir, Content); fresh.SHA256 != plain.SHA256 {
		t.Error("another digest with a memory")
	}
	if n := read(t, func() { must(t, m, dir, Content) }); n < 3*size {
		t.Errorf("%d bytes were read of files that were written a moment ago", n)
	}
	time.Sleep(unchanged + 100*time.Millisecond)
	must(t, m, dir, Content)
	if n := read(t, func() {
		if again := must(t, m, dir, Content); again != plain {
			t.Errorf("%+v from memory, want %+v", again, plain)
		}
	}); n > size/2 {
		t.Errorf("%d bytes were read of files that did not change", n)
	}
	inodetest.Try(t, os.WriteFile(dir+"/a/big", bytes.Repeat([]byte("zz"), size/2), 0o644), os.WriteFile(dir+"/a/a", nil, 0o644))
	want := must(t, Maker{}, dir, Content)
	if n := read(t, func() {
		if again := must(t, m, dir, Content); again.SHA256 != want.SHA256 {
			t.Error("the change was passed over")
		}
	}); n < size || n > 2*size {
		t.Errorf("%d bytes were read where one file of %d changed", n, size)
	}
}

// TestDamagedMemoryIsForgotten: a file that is not what was written is as none.
func TestDamagedMemoryIsForgotten(t *testing.T) {
	dir := tree(t)
	skipUntimely(t, dir)
	time.Sleep(unchanged + 100*time.Millisecond)
	m := Maker{Dir: t.TempDir()}
	want := must(t, m, dir, Content)
	files, err := filepath.Glob(m.Dir + "/*")
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	inodetest.Try(t, err)
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 1
		inodetest.Try(t, os.WriteFile(files[0], damaged, 0o600))
		if got := must(t, m, dir, Content); got != want {
			t.Fatalf("byte %d: %+v", i, got)
		}
		inodetest.Try(t, os.WriteFile(files[0], whole[:i], 0o600))
		if got := must(t, m, dir, Content); got != want {
			t.Fatalf("cut at %d: %+v", i, got)
		}
	}
}

func TestOrderOfTheWalk(t *testing.T) {
	for i, paths := 0, []string{"", "a", "a/b", "a/b/c", "a/c", "a-b", "a-b/a", "b"}; i < len(paths); i++ {
		for j := range paths {
			if got := before(paths[i], paths[j]); got != (i < j) {
				t.Errorf("%q before %q: %v", paths[i], paths[j], got)
			}
		}
	}
}

func TestUnchanged(t *testing.T) {
	dir := tree(t)
	for _, path := range []string{dir, dir + "/a/b/one"} {
		f, err := inode.Open(path)
		inodetest.Try(t, err)
		defer f.Close()
		now := time.Now()
		if same, err := (Maker{}).Unchanged(t.Context(), f, now); !same || err != nil {
			t.Errorf("%s: unchanged %v, %v", path, same, err)
		}
		tick(t)
		inodetest.Try(t, os.WriteFile(dir+"/a/b/one", []byte("1"), 0o644))
		if same, err := (Maker{}).Unchanged(t.Context(), f, now); same || err != nil {
			t.Errorf("%s: after a change: unchanged %v, %v", path, same, err)
		}
	}
}

// TestWrittenWhileRead: a file that grows under the reader has no digest.
func TestWrittenWhileRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	inodetest.Try(t, os.WriteFile(file, []byte("text"), 0o644))
	f, err := inode.Open(file)
	inodetest.Try(t, err)
	defer f.Close()
	st, err := inode.Stat(int(f.Fd()), "")
	inodetest.Try(t, err)
	tick(t)
	w := &walk{ctx: t.Context(), kind: Content}
	_, err = w.file("", st, func() (*os.File, error) {
		inodetest.Try(t, os.WriteFile(file, []byte("test"), 0o644))
		return os.Open(file)
	})
	if !errors.Is(err, errChanged) {
		t.Errorf("error %v", err)
	}
}

func skipUntimely(t *testing.T, dir string) {
	t.Helper()
	var system unix.Statfs_t
	inodetest.Try(t, unix.Statfs(dir, &system))
	if !inode.Timely(&system) {
		t.Skip("the file system of the temporary directory is none whose change times are trusted")
	}
}

// read is how many bytes this process has read by system calls (rchar, proc_pid_io(5)).
func read(t *testing.T, do func()) int64 {
	t.Helper()
	runtime.GC() // finalisers close what others opened
	before := rchar(t)
	do()
	return rchar(t) - before
}

func rchar(t *testing.T) (n int64) {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/io")
	inodetest.Try(t, err)
	if _, err := fmt.Sscanf(string(raw), "rchar: %d", &n); err != nil {
		t.Fatal(err)
	}
	return n
}
