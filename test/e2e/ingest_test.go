package e2e

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSignalsWhileItHarvests sends all stop signals to a launcher that harvests: the analysis has ended, and its files
// are committed.
func TestSignalsWhileItHarvests(t *testing.T) {
	h := newHarness(t)
	const n = 5000
	id, end := h.newID(), h.flag()
	h.write("fill.py", fill, 0o644)
	l := h.launch(id, append(flags("--input", h.path("fill.py"), "--input", end.input()),
		shell("python3 /inputs/fill.py "+strconv.Itoa(n)+"; echo ready >&2; "+awaited)...)...)
	l.await("ready")
	all := l.family()
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return h.analysisEnded(id) })
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		l.signal(s)
	}
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if got := h.runRow(id); got != "complete exit 0 5000 500" || r.OutputsTotal != n || r.RejectedTotal != n/10 {
		t.Errorf("%d outputs and %d rejected, the catalog has %q", r.OutputsTotal, r.RejectedTotal, got)
	}
	if all := h.listAll(id); len(all) != n+n/10 {
		t.Errorf("%d rows", len(all))
	}
	expectGone(t, all, id)
}

// TestStickyDirectories: a file that only its owner may remove is removed all the same.
func TestStickyDirectories(t *testing.T) {
	h := newHarness(t)
	r := h.start(append(flags("--id", h.newID()), shell("mkdir d d/e; echo x >d/e/x; echo y >d/y; echo z >z; chmod 1777 d/e d .")...)...)
	r.expect(t, "complete", "exit", 0)
	if got := r.paths(); !slices.Equal(got, flags("d/e/x", "d/y", "z")) || len(r.Warnings) > len(warningsOf(t, h)) {
		t.Errorf("outputs %q, warnings %q", got, r.Warnings)
	}
}

// smallRoot puts the root of a harness on a file system of its own.
func (h *harness) smallRoot(size string) {
	h.t.Helper()
	h.root = h.t.TempDir()
	if err := unix.Mount("tmpfs", h.root, "tmpfs", 0, "mode=0700,size="+size); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := unix.Unmount(h.root, 0); err != nil {
			h.t.Error(err)
		}
	})
	h.setenv("SCIDEX_OCI_ROOT", h.root)
	h.setenv("SCIDEX_OCI_MIN_FREE", "0")
}

// TestFullDiskWhileItHarvests has more to harvest than the blob store has room for: the files stay in the working
// directory, the result says so, and no row names a missing blob.
func TestFullDiskWhileItHarvests(t *testing.T) {
	if !theHost.root {
		t.Skip("only root makes the small file system that this is about")
	}
	h := newHarness(t)
	h.smallRoot("24m")
	id := h.newID()
	r := h.start(append(flags("--id", id), shell("for i in 1 2 3 4 5; do yes $i | head -c 7000000 >f$i; done")...)...)
	r.expect(t, "error", "harvest", 125)
	if !strings.Contains(r.Message, "no space left") || r.Kept == "" {
		t.Fatalf("%q, kept %q", r.Message, r.Kept)
	}
	for i := range 5 {
		line := strconv.Itoa(i+1) + "\n"
		if got := readFile(t, filepath.Join(r.Kept, "f"+strconv.Itoa(i+1))); got != strings.Repeat(line, 3_500_000) {
			t.Errorf("f%d was kept with %d bytes", i+1, len(got))
		}
	}
	if len(r.Outputs) == 5 {
		t.Error("everything was harvested: the file system was not full")
	}
	for path, row := range h.outputRows(id) {
		if got := h.blob(row.digest); digest([]byte(got)) != row.digest {
			t.Errorf("the blob of %s is damaged", path)
		}
	}
	if c := h.gc(); slices.Contains(c.Removed, r.Kept) || len(matches(r.Kept)) != 1 {
		t.Errorf("gc removed the only copy: %+v", c)
	}
	if left := matches(filepath.Join(h.root, "blobs/ingest/*")); len(left) > 0 {
		t.Errorf("left in the ingest directory: %q", left)
	}
	h.mustRun("rm", id)
	if len(matches(r.Kept)) > 0 {
		t.Error("rm left the kept directory")
	}
}

// ofTheirOwn checks that files below dir have no other name: one would be that of a blob.
func ofTheirOwn(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := os.Lstat(path)
		if err == nil && info.Sys().(*syscall.Stat_t).Nlink != 1 {
			t.Errorf("%s has another name", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
