package scan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/host/inode/inodetest"
)

// large is a tree that is worth remembering, of which the scanner remembers all: it was left alone for
// long enough.
type large struct {
	t       *testing.T
	dir     string
	scanner Scanner
	entries int64 // in it
}

// largeTree has 11 directories of 1,000 names, each with a directory below. The names are links: a file
// for each would take longer.
func largeTree(t *testing.T) *large {
	t.Helper()
	l := &large{t: t, dir: inodetest.Tree(t, "one"), scanner: Scanner{Dir: filepath.Join(t.TempDir(), "scans"), Log: slog.New(slog.DiscardHandler)}}
	if !timelyHere(t, l.dir) {
		t.Skip("the file system of the temporary directory is none whose change times are trusted")
	}
	for i := range 11 {
		dir := fmt.Sprintf("%s/d%02d", l.dir, i)
		inodetest.Try(t, os.MkdirAll(dir+"/below", 0o755), os.WriteFile(dir+"/below/file", nil, 0o644))
		for j := range 1000 {
			inodetest.Try(t, os.Link(l.dir+"/one", fmt.Sprintf("%s/%d", dir, j)))
		}
	}
	l.entries = 1 + 11*(1+1000+1+1)
	time.Sleep(unchanged + 100*time.Millisecond)
	return l
}

func timelyHere(t *testing.T, dir string) bool {
	t.Helper()
	var st unix.Statfs_t
	inodetest.Try(t, unix.Statfs(dir, &st))
	return inode.Timely(&st)
}

// scan scans as a launcher does.
func (l *large) scan() *Special {
	l.t.Helper()
	found, err := l.scanner.Scan(l.t.Context(), inodetest.Open(l.t, l.dir), nil)
	inodetest.Try(l.t, err)
	return found
}

// recall scans with what is remembered, and no way to read a directory: getdents64(2) refuses a buffer
// without room.
func (l *large) recall() (entries int64, err error) {
	l.t.Helper()
	w := &walk{progress: newProgress(l.t.Context(), nil), memory: l.file().load()}
	found, err := w.run(int(inodetest.Open(l.t, l.dir).Fd()))
	if found != nil {
		l.t.Errorf("found %+v", found)
	}
	return w.entries, err
}

func (l *large) file() memoryFile {
	l.t.Helper()
	f, err := l.scanner.fileOf(int(inodetest.Open(l.t, l.dir).Fd()))
	inodetest.Try(l.t, err)
	return f
}

// records are what the file holds.
func (l *large) records() []record {
	l.t.Helper()
	f := l.file()
	raw, err := f.read()
	inodetest.Try(l.t, err)
	records, err := decodeMemory(raw, f.fsid)
	inodetest.Try(l.t, err)
	return records
}

func TestScanRemembers(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	if found := l.scan(); found != nil {
		t.Fatalf("found %+v", found)
	}
	info, err := os.Lstat(l.file().path)
	inodetest.Try(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("the file has mode %v", info.Mode())
	}
	if n := len(l.records()); n != 23 {
		t.Errorf("%d directories are remembered, want 23", n)
	}
	if entries, err := l.recall(); err != nil || entries != l.entries {
		t.Errorf("%d entries, want %d, %v", entries, l.entries, err)
	}
	if found := l.scan(); found != nil {
		t.Errorf("found %+v", found)
	}
	if again, err := os.Lstat(l.file().path); err != nil || !os.SameFile(info, again) {
		t.Errorf("the file was written again with nothing new in it: %v", err)
	}
}

// TestScanNoticesChanges: whatever brings a FIFO into a remembered tree is noticed.
func TestScanNoticesChanges(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	l.scan()
	fifo := filepath.Join(t.TempDir(), "fifo")
	full := inodetest.Tree(t, "a/b/1")
	inodetest.Try(t, unix.Mkfifo(fifo, 0o600), unix.Mkfifo(full+"/a/b/fifo", 0o600))
	path := func(name string) string { return filepath.Join(l.dir, name) }
	for name, c := range map[string]struct {
		do, undo func() error
		found    string
	}{
		"made at the top": {
			func() error { return unix.Mkfifo(path("fifo"), 0o600) }, func() error { return os.Remove(path("fifo")) }, "fifo",
		},
		"made deep": {
			func() error { return unix.Mkfifo(path("d07/below/fifo"), 0o600) },
			func() error { return os.Remove(path("d07/below/fifo")) }, "d07/below/fifo",
		},
		"linked": {
			func() error { return os.Link(fifo, path("d03/0-fifo")) }, func() error { return os.Remove(path("d03/0-fifo")) }, "d03/0-fifo",
		},
		"renamed over a file": {
			func() error { return os.Rename(fifo, path("d04/17")) }, func() error { return os.Rename(path("d04/17"), fifo) }, "d04/17",
		},
		"in a new directory": {
			func() error { return os.Rename(full+"/a", path("d10/a")) }, func() error { return os.Rename(path("d10/a"), full+"/a") },
			"d10/a/b/fifo",
		},
		"with the old times": {
			func() error {
				var st unix.Stat_t
				if err := errors.Join(unix.Stat(path("d06"), &st), unix.Mkfifo(path("d06/fifo"), 0o600)); err != nil {
					return err
				}
				return unix.UtimesNano(path("d06"), []unix.Timespec{st.Atim, st.Mtim})
			},
			func() error { return os.Remove(path("d06/fifo")) }, "d06/fifo",
		},
	} {
		inodetest.Try(t, c.do())
		if found := l.scan(); found == nil || found.Path != c.found {
			t.Errorf("%s: found %+v, want %s", name, found, c.found)
		}
		inodetest.Try(t, c.undo())
		if found := l.scan(); found != nil {
			t.Errorf("%s: undone, found %+v", name, found)
		}
	}
}

// TestScanForgetsWhatIsFresh: of two changes within a tick of the clock, the second leaves no trace.
func TestScanForgetsWhatIsFresh(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	inodetest.Try(t, os.WriteFile(l.dir+"/d05/below/new", nil, 0o644))
	l.scan()
	if n := len(l.records()); n != 22 {
		t.Errorf("%d directories are remembered, want 22: all but the fresh one", n)
	}
	if _, err := l.recall(); err == nil || !strings.Contains(err.Error(), `"d05/below"`) {
		t.Errorf("the fresh directory was not read: %v", err)
	}
}

func TestSmallTreesAreNotRemembered(t *testing.T) {
	t.Parallel()
	dir := inodetest.Tree(t, "a/b/c/1", "a/2", "d/3")
	time.Sleep(unchanged + 100*time.Millisecond)
	s := Scanner{Dir: filepath.Join(t.TempDir(), "scans"), Log: slog.New(slog.DiscardHandler)}
	if found, err := s.Scan(t.Context(), inodetest.Open(t, dir), nil); found != nil || err != nil {
		t.Fatalf("%+v, %v", found, err)
	}
	if _, err := os.Lstat(s.Dir); !os.IsNotExist(err) {
		t.Errorf("something was made: %v", err)
	}
}

// TestDamagedMemory: a file that is not whole, of another user, or of another tree is ignored and replaced.
func TestDamagedMemory(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	l.scan()
	f := l.file()
	good, err := f.read()
	inodetest.Try(t, err)
	write := func(raw []byte) func() error {
		return func() error { return os.WriteFile(f.path, raw, 0o600) }
	}
	damage := map[string]func() error{
		"empty":         write(nil),
		"other version": write([]byte(strings.Replace(string(good), "scan 1", "scan 2", 1))),
		"other system":  write((&memory{records: l.records()}).encode(f.fsid + 1)),
		"a symlink": func() error {
			return errors.Join(os.WriteFile(f.path+"-other", good, 0o600), os.Symlink(f.path+"-other", f.path))
		},
		"a FIFO":               func() error { return unix.Mkfifo(f.path, 0o600) },
		"writable by others":   func() error { return errors.Join(write(good)(), os.Chmod(f.path, 0o622)) },
		"far too large":        func() error { return errors.Join(write(good)(), os.Truncate(f.path, 1<<40)) },
		"names that lead away": write(misled(l.records(), "..\x00").encode(f.fsid)),
	}
	for i := 0; i < len(good); i += 97 {
		damage[fmt.Sprintf("cut at %d", i)] = write(good[:i])
		bad := slices.Clone(good)
		bad[i] ^= 0x10
		damage[fmt.Sprintf("bit of %d", i)] = write(bad)
	}
	for name, do := range damage {
		inodetest.Try(t, os.RemoveAll(f.path), do())
		if w := f.load(); len(w.records) > 0 {
			t.Errorf("%s: taken", name)
		}
	}
	for name, do := range damage {
		if strings.HasPrefix(name, "cut") || strings.HasPrefix(name, "bit") {
			continue
		}
		inodetest.Try(t, os.RemoveAll(f.path), do())
		if found := l.scan(); found != nil {
			t.Errorf("%s: found %+v", name, found)
		}
		if entries, err := l.recall(); err != nil || entries != l.entries {
			t.Errorf("%s: not replaced: %d, %v", name, entries, err)
		}
	}
}

// misled gives the first record other names.
func misled(records []record, names string) *memory {
	records[0].subdirs = names
	for i := range records {
		records[i].current = true
	}
	return &memory{records: records}
}

// TestStaleMemory: if a remembered name is gone although its directory has not changed, nothing that
// is remembered is believed.
func TestStaleMemory(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	l.scan()
	f := l.file()
	inodetest.Try(t, unix.Mkfifo(l.dir+"/d09/below/fifo", 0o600))
	records := l.records()
	at := slices.IndexFunc(records, func(r record) bool { return strings.HasPrefix(r.subdirs, "d") })
	records[at].subdirs = "d00\x00other name of d09\x00"
	m := misled(records, records[0].subdirs)
	inodetest.Try(t, os.WriteFile(f.path, m.encode(f.fsid), 0o600))
	if found := l.scan(); found == nil || found.Path != "d09/below/fifo" {
		t.Errorf("found %+v", found)
	}
}

// TestManyScansAtOnce: launchers share the root.
func TestManyScansAtOnce(t *testing.T) {
	t.Parallel()
	l := largeTree(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for range 5 {
				if i%2 == 0 {
					_ = os.Remove(l.file().path)
				}
				if found := l.scan(); found != nil {
					t.Errorf("found %+v", found)
				}
			}
		})
	}
	all.Wait()
	l.scan()
	if entries, err := l.recall(); err != nil || entries != l.entries {
		t.Errorf("%d entries, %v", entries, err)
	}
	if left, err := filepath.Glob(l.scanner.Dir + "/*"); err != nil || len(left) != 1 {
		t.Errorf("left %q, %v", left, err)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	m := newMemory(nil)
	names := strings.Repeat("n", 255) + "\x00"
	for i := range 1 << 17 {
		m.note(&unix.Statx_t{Ino: uint64(i)}, listing{1, names})
	}
	if raw := m.encode(0); len(raw) > 2*memoryMax || len(raw) < memoryMax/2 {
		t.Errorf("%d bytes", len(raw))
	}
}

func FuzzDecodeMemory(f *testing.F) {
	m := newMemory(nil)
	m.note(&unix.Statx_t{Ino: 7, Dev_major: 8}, listing{3, "a\x00b\x00"})
	m.note(&unix.Statx_t{Ino: 1 << 60, Ctime: unix.StatxTimestamp{Sec: -5, Nsec: 999_999_999}}, listing{})
	whole := m.encode(42)
	f.Add(whole[:len(whole)-4])
	f.Add([]byte(memoryMagic))
	f.Fuzz(func(t *testing.T, body []byte) {
		raw := binary.LittleEndian.AppendUint32(slices.Clone(body), crc32.Checksum(body, castagnoli()))
		records, err := decodeMemory(raw, 42)
		if err != nil {
			return
		}
		for i, r := range records {
			for name := range strings.SplitSeq(strings.TrimSuffix(r.subdirs, "\x00"), "\x00") {
				if r.subdirs != "" && (filepath.Base(name) != name || name == "." || name == "..") {
					t.Errorf("the name %q leads away", name)
				}
			}
			records[i].current = true
		}
		again, err := decodeMemory((&memory{records: records}).encode(42), 42)
		if err != nil || len(again) != len(records) {
			t.Fatalf("%d records, then %d, %v", len(records), len(again), err)
		}
		for i := range again {
			again[i].current = true
			if again[i] != records[i] {
				t.Errorf("%+v became %+v", records[i], again[i])
			}
		}
	})
}
