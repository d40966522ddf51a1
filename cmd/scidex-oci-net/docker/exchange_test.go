package docker

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// other is the uid of another user in these tests; the host need not know it.
const other = 54321

// foreign gives directories to another user, if root tests.
func foreign(t *testing.T, dirs ...string) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	for _, dir := range dirs {
		try(t, filepath.WalkDir(dir, func(name string, _ os.DirEntry, err error) error {
			try(t, err, os.Lchown(name, other, other))
			return nil
		}))
	}
}

func try(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// exchange swaps two names as soon as inotify tells of an entry in dir whose name begins so. done waits for that.
func exchange(t *testing.T, dir string, event uint32, begin, a, b string) (done func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	try(t, err)
	_, err = unix.InotifyAddWatch(fd, dir, event)
	try(t, err)
	events, swapped := os.NewFile(uintptr(fd), "inotify"), make(chan error, 1)
	go func() {
		var buf [4096]byte
		for {
			n, err := events.Read(buf[:])
			if err == nil && bytes.Contains(buf[:n], []byte("\x00"+begin)) {
				for err = unix.ENOENT; errors.Is(err, unix.ENOENT); { // it is just being replaced
					err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
				}
			} else if err == nil {
				continue
			}
			swapped <- err
			return
		}
	}()
	return func() {
		t.Helper()
		if err := <-swapped; err != nil {
			t.Error("nothing was exchanged:", err)
		}
		_ = events.Close()
	}
}

// big takes long enough to be read for an exchange.
const big = 32 << 20

// TestKeepsTheModeOfOthers: what takes the name of a file that has the run's contents is not changed.
func TestKeepsTheModeOfOthers(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	out, kept, victim := filepath.Join(top, "out"), filepath.Join(top, "kept"), filepath.Join(top, "victim")
	put(t, filepath.Join(out, "x"), "")
	put(t, filepath.Join(kept, "x"), "")
	put(t, victim, "secret")
	try(t, os.Truncate(filepath.Join(out, "x"), big), os.Truncate(filepath.Join(kept, "x"), big), os.Chmod(filepath.Join(kept, "x"), 0o666),
		os.Symlink(victim, filepath.Join(top, "link")), os.Chmod(out, 0o755))
	foreign(t, out)
	o := filled(t, layout{out: &bind{source: out}})
	done := exchange(t, out, unix.IN_OPEN, "x", filepath.Join(out, "x"), filepath.Join(top, "link"))
	_ = takePlace(t, o, kept) // the link may be in its way
	done()
	if info, failed := os.Stat(victim); failed != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("a file outside has the mode %v, %v", info.Mode(), failed)
	}
}

// TestPutsBackWhereItWas: a directory that takes the name of the output directory while that is filled is not touched.
func TestPutsBackWhereItWas(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	out, kept, victim := filepath.Join(top, "out"), filepath.Join(top, "kept"), filepath.Join(top, "victim")
	put(t, filepath.Join(out, "old"), "")
	put(t, filepath.Join(victim, "secret"), "secret")
	put(t, filepath.Join(kept, "made"), "made")
	try(t, os.Symlink(victim, filepath.Join(top, "link")), os.Chmod(out, 0o755))
	foreign(t, out)
	o := filled(t, layout{out: &bind{source: out}})
	for i := range 500 { // each is moved, or looked at
		put(t, filepath.Join(out, "late", strconv.Itoa(i)), "")
	}
	foreign(t, out)
	done := exchange(t, out, unix.IN_CREATE, ".scidex-oci-", out, filepath.Join(top, "link"))
	err := takePlace(t, o, kept)
	done()
	for dir, want := range map[string]string{victim: "secret", filepath.Join(top, "link"): "late made"} {
		names, failed := filepath.Glob(filepath.Join(dir, "*"))
		for i := range names {
			names[i] = filepath.Base(names[i])
		}
		if got := strings.Join(names, " "); got != want || failed != nil {
			t.Errorf("%s has %q, not %q; %v", dir, got, want, err)
		}
	}
}

// swaps are what takes the place of a file: a link to one outside, and a FIFO, which blocks who opens it.
func swaps(t *testing.T, do func(t *testing.T, top, swap string)) {
	for name, swap := range map[string]func(top string) error{
		"link": func(top string) error { return os.Symlink(filepath.Join(top, "victim"), filepath.Join(top, "swap")) },
		"FIFO": func(top string) error { return unix.Mkfifo(filepath.Join(top, "swap"), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			put(t, filepath.Join(top, "victim"), "secret")
			put(t, filepath.Join(top, "in/a"), "")
			put(t, filepath.Join(top, "in/b"), "input")
			try(t, os.Truncate(filepath.Join(top, "in/a"), big), swap(top))
			do(t, top, filepath.Join(top, "swap"))
		})
	}
}

// TestCopiesNoOthers: what takes the place of a file of an input is not read.
func TestCopiesNoOthers(t *testing.T) {
	t.Parallel()
	swaps(t, func(t *testing.T, top, swap string) {
		out := t.TempDir()
		l := layout{out: &bind{source: out, target: "/job"}, into: []bind{{source: filepath.Join(top, "in"), target: "/job/in"}}}
		done := exchange(t, filepath.Join(top, "in"), unix.IN_OPEN, "a", filepath.Join(top, "in/b"), swap)
		o, err := l.fill(t.Context(), allow)
		done()
		if data, _ := os.ReadFile(filepath.Join(out, "in/b")); string(data) != "input" && err == nil {
			t.Errorf("a file outside was copied: %q", data)
		}
		if err == nil {
			try(t, o.close())
		}
	})
}

// TestComparesNoOthers: what takes the place of a file in the output directory is not read.
func TestComparesNoOthers(t *testing.T) {
	t.Parallel()
	swaps(t, func(t *testing.T, top, swap string) {
		in, kept := filepath.Join(top, "in"), filepath.Join(top, "kept")
		o := filled(t, layout{out: &bind{source: in}})
		put(t, filepath.Join(kept, "a"), "")
		put(t, filepath.Join(kept, "b"), "secret")
		try(t, os.Truncate(filepath.Join(kept, "a"), big))
		done := exchange(t, in, unix.IN_OPEN, "a", filepath.Join(in, "b"), swap)
		err := takePlace(t, o, kept)
		done()
		if was, _ := os.ReadFile(swap); string(was) != "input" {
			return // it was exchanged after it was put back
		}
		if info, failed := os.Lstat(filepath.Join(in, "b")); err == nil && (failed != nil || !info.Mode().IsRegular()) {
			t.Errorf("%v, %v", info, failed)
		}
	})
}

// TestCopiesWhatWasChecked: each file is checked, and copied from the descriptor that was.
func TestCopiesWhatWasChecked(t *testing.T) {
	t.Parallel()
	top, out := t.TempDir(), t.TempDir()
	put(t, filepath.Join(top, "in/d/f"), "input")
	put(t, filepath.Join(top, "victim"), "secret")
	l := layout{out: &bind{source: out, target: "/job"}, into: []bind{{source: filepath.Join(top, "in"), target: "/job/in"}}}
	var checked []string
	check := func(_ string, f *os.File) error {
		checked = append(checked, f.Name())
		if filepath.Base(f.Name()) != "f" {
			return nil
		}
		return os.Rename(filepath.Join(top, "victim"), f.Name()) // fails the second time
	}
	o, err := l.fill(t.Context(), check)
	try(t, err, o.close())
	if data, err := os.ReadFile(filepath.Join(out, "in/d/f")); string(data) != "input" || len(checked) != 2 {
		t.Errorf("%q of %q, %v", data, checked, err)
	}
	l.into[0].target = "/job/again"
	if _, err := l.fill(t.Context(), check); err == nil {
		t.Error("what was refused was copied")
	}
	if names, err := os.ReadDir(out); err != nil || len(names) != 1 {
		t.Errorf("left %v, %v", names, err)
	}
}

// TestRemovesOnlyItsIDFile: what has the name of the file of --cidfile since then is not removed.
func TestRemovesOnlyItsIDFile(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	mine, victim := filepath.Join(top, "mine"), filepath.Join(top, "victim")
	put(t, filepath.Join(victim, "cid"), "secret")
	try(t, os.Mkdir(mine, 0o755), os.Symlink(victim, filepath.Join(top, "link")))
	c := container{cidfile: filepath.Join(mine, "cid"), id: "x"}
	id, err := c.writeID()
	try(t, err, unix.Renameat2(unix.AT_FDCWD, mine, unix.AT_FDCWD, filepath.Join(top, "link"), unix.RENAME_EXCHANGE))
	try(t, id.remove(), id.close())
	if data, err := os.ReadFile(filepath.Join(victim, "cid")); string(data) != "secret" {
		t.Errorf("a file outside: %q, %v", data, err)
	}
	if names, err := os.ReadDir(filepath.Join(top, "link")); err != nil || len(names) > 0 {
		t.Errorf("left %v, %v", names, err)
	}
	c.cidfile = filepath.Join(top, "cid")
	id, err = c.writeID()
	try(t, err, os.Rename(filepath.Join(victim, "cid"), c.cidfile))
	if err := id.remove(); err == nil {
		t.Error("another file was removed")
	}
	try(t, id.close())
	if data, err := os.ReadFile(c.cidfile); string(data) != "secret" {
		t.Errorf("another file: %q, %v", data, err)
	}
}
