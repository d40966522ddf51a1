package outputs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// openDir opens a directory for a test.
func openDir(t testing.TB, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// newTree makes an empty working directory that is removed by Empty, for os.RemoveAll cannot remove
// all that the tests put there.
func newTree(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		f, err := os.Open(dir)
		if err != nil {
			t.Error(err)
			return
		}
		defer f.Close()
		if err := Empty(context.Background(), f); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func write0(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func digest(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// harvested is the answer of one harvest in a form that tests compare.
type harvested struct {
	t       testing.TB
	totals  Totals
	entries map[string]Entry
	ingest  string
}

// reap harvests dir and checks what holds for every harvest: no path twice, totals that agree with the
// entries, copies with the promised digest, no copy that nobody names, no descriptor left open.
func reap(t testing.TB, dir string, opts Options) harvested {
	t.Helper()
	h := harvested{t: t, entries: map[string]Entry{}, ingest: t.TempDir()}
	work := openDir(t, dir)
	opts.Ingest = openDir(t, h.ingest)
	before := descriptors(t)
	totals, err := Harvest(context.Background(), work, opts, func(e Entry) error {
		if _, twice := h.entries[string(e.Path)]; twice {
			t.Errorf("%q has two verdicts", e.Path)
		}
		h.entries[string(e.Path)] = e
		return nil
	})
	must(t, err)
	if after := descriptors(t); after > before {
		t.Errorf("%d descriptors before, %d after", before, after)
	}
	h.totals = totals
	h.check()
	return h
}

func (h harvested) check() {
	h.t.Helper()
	var outputs, rejected int64
	copies := map[string]bool{}
	for path, e := range h.entries {
		if e.Rejected != "" {
			rejected++
			if e.SHA256 != "" || e.Ingest != "" {
				h.t.Errorf("%q is rejected and has a copy: %+v", path, e)
			}
			continue
		}
		outputs++
		copies[e.Ingest] = true
		h.t.Logf("%q %d %s", path, e.Size, e.MediaType)
		if e.Size > 1<<20 {
			continue
		}
		content, err := os.ReadFile(filepath.Join(h.ingest, e.Ingest))
		must(h.t, err)
		if digest(string(content)) != e.SHA256 || int64(len(content)) != e.Size {
			h.t.Errorf("%q: copy is not what the entry says: %+v", path, e)
		}
	}
	if outputs != h.totals.Outputs || rejected != h.totals.Rejected {
		h.t.Errorf("%d outputs, %d rejected, but %+v", outputs, rejected, h.totals)
	}
	names, err := os.ReadDir(h.ingest)
	must(h.t, err)
	for _, n := range names {
		if !copies[n.Name()] && n.Name() != modesFile {
			h.t.Errorf("ingest holds %s, which no entry names", n.Name())
		}
	}
}

// is checks one verdict: "" for an output. It returns the entry.
func (h harvested) is(path string, want Reason) Entry {
	h.t.Helper()
	e, ok := h.entries[path]
	if !ok {
		h.t.Errorf("%q has no verdict", path)
	} else if e.Rejected != want {
		h.t.Errorf("%q: got %q (%s), want %q", path, e.Rejected, e.Detail, want)
	}
	return e
}

// only checks that there are no verdicts but those on the given paths.
func (h harvested) only(paths ...string) {
	h.t.Helper()
	want := map[string]bool{}
	for _, p := range paths {
		want[p] = true
	}
	for p := range h.entries {
		if !want[p] {
			h.t.Errorf("unexpected verdict on %q: %+v", p, h.entries[p])
		}
	}
}

// descriptors counts the open files of this process.
func descriptors(t testing.TB) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	n := 0
	for _, name := range names {
		to, err := os.Readlink("/proc/self/fd/" + name.Name())
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") {
			n++
		}
	}
	return n
}

// deep makes a chain of directories below dir and a file at its end. It holds one descriptor.
func deep(t testing.TB, dir string, levels int, name string) {
	t.Helper()
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	must(t, err)
	for range levels {
		must(t, unix.Mkdirat(fd, name, 0o755))
		next, err := unix.Openat(fd, name, unix.O_RDONLY|unix.O_DIRECTORY, 0)
		must(t, err)
		unix.Close(fd)
		fd = next
	}
	f, err := unix.Openat(fd, "end", unix.O_CREAT|unix.O_WRONLY, 0o644)
	must(t, err)
	unix.Close(f)
	unix.Close(fd)
}

// mostDescriptors runs f and returns how many more files than before were open at once, as seen by a
// hook that f calls.
func mostDescriptors(t testing.TB, f func(look func())) int {
	t.Helper()
	before, most := descriptors(t), 0
	f(func() { most = max(most, descriptors(t)-before) })
	return most
}

func manyFiles(t testing.TB, dir string, n int) {
	t.Helper()
	for i := range n {
		must(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%06d", i)), nil, 0o644))
	}
}
