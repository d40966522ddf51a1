package cas

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/internal/flock"
)

func TestPublishIsIdempotent(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	name, other := fill(t, i, "same"), fill(t, i, "same")
	must(t, i.Publish(name, digest("same")))
	must(t, i.Publish(name, digest("same")))  // again, as after a crash
	must(t, i.Publish(other, digest("same"))) // another file with the same contents
	left, err := i.dir.ReadDir(-1)
	if err != nil || len(left) != 0 {
		t.Errorf("left in ingest: %v %v", left, err)
	}
	if got, err := read(t, s, digest("same")); got != "same" || err != nil {
		t.Errorf("%q %v", got, err)
	}
	if err := i.Publish("never-was", digest("nothing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, i.Close())
}

func TestPublishReplacesADamagedBlob(t *testing.T) {
	s := newStore(t)
	path, err := s.Path(digest("whole"))
	must(t, err)
	must(t, os.WriteFile(path, []byte("wh"), 0o444)) // as a crash without fsync could leave it
	put(t, s, "whole")
	if got, err := read(t, s, digest("whole")); got != "whole" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

// TestPublishReplacesABlobWithAnotherName: by that name somebody could change it.
func TestPublishReplacesABlobWithAnotherName(t *testing.T) {
	s := newStore(t)
	path, err := s.Path(digest("whole"))
	must(t, err)
	put(t, s, "whole")
	other := t.TempDir() + "/other"
	must(t, os.Link(path, other))
	put(t, s, "whole")
	must(t, os.Chmod(other, 0o600))
	must(t, os.WriteFile(other, []byte("changed"), 0o600))
	if got, err := read(t, s, digest("whole")); got != "whole" || err != nil {
		t.Errorf("%q %v", got, err)
	}
}

func TestPublishRefuses(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	defer i.Close()
	outside := t.TempDir() + "/outside"
	must(t, os.WriteFile(outside, []byte("x"), 0o600))
	must(t, os.Symlink(outside, i.path+"/link"))
	must(t, os.Link(outside, i.path+"/hard"))
	must(t, os.Mkdir(i.path+"/dir", 0o700))
	must(t, unix.Mkfifo(i.path+"/fifo", 0o600))
	for _, name := range []string{"link", "hard", "dir", "fifo", "", ".", "..", "../x", "a/b", "/etc/passwd", "a\x00"} {
		if err := i.Publish(name, digest("x")); err == nil {
			t.Errorf("%q was published", name)
		}
	}
	if _, err := s.Size(digest("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if info, err := os.Stat(outside); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func TestPublishTakesTheSupervisorsFiles(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	defer i.Close()
	uid, gid := os.Geteuid(), os.Getegid()
	if uid == 0 {
		uid, gid = 12345, 12345
	}
	must(t, i.Chown(uid, gid))
	must(t, os.WriteFile(i.path+"/000001", []byte("x"), 0o600))
	must(t, os.Chown(i.path+"/000001", uid, gid))
	must(t, i.Publish("000001", digest("x")))
	path, err := s.Path(digest("x"))
	must(t, err)
	var st unix.Stat_t
	must(t, unix.Stat(path, &st))
	if int(st.Uid) != os.Geteuid() || st.Mode&0o7777 != 0o444 {
		t.Errorf("%d %o", st.Uid, st.Mode)
	}
}

func TestSyncOnlyAfterPublish(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	must(t, i.Sync()) // would fail: it has no directory to sync
	if i.blobs != nil || i.dirty {
		t.Error("publishing nothing did something")
	}
	must(t, i.Publish(fill(t, i, "1"), digest("1")))
	if !i.dirty {
		t.Error("a new blob must be synced")
	}
	must(t, i.Sync())
	if i.dirty {
		t.Error("synced twice")
	}
	// Another process may have published the same blob and not synced it yet.
	must(t, i.Publish(fill(t, i, "1"), digest("1")))
	if !i.dirty {
		t.Error("a known blob must be synced too")
	}
	must(t, i.Close())
	if _, err := os.Stat(i.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
}

func TestManyPublishTheSame(t *testing.T) {
	s := newStore(t)
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			i, err := s.NewIngest(fmt.Sprintf("run-%d", g))
			if err != nil {
				t.Error(err)
				return
			}
			for n := range 20 {
				content := fmt.Sprint("content ", n)
				name, f, err := i.Create()
				if err == nil {
					_, err = f.WriteString(content)
					err = errors.Join(err, f.Close(), i.Publish(name, digest(content)))
				}
				if err != nil {
					t.Error(err)
				}
				if got, err := read(t, s, digest(content)); got != content || err != nil {
					t.Errorf("%q %v", got, err)
				}
			}
			if err := errors.Join(i.Sync(), i.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	must(t, s.Walk(nil, func(f Found) bool {
		if _, err := read(t, s, f.SHA256); err != nil {
			t.Error(err)
		}
		n++
		return true
	}))
	if n != 20 {
		t.Errorf("%d blobs", n)
	}
	left, err := os.ReadDir(filepath.Join(s.Ingests()))
	if err != nil || len(left) != 0 {
		t.Errorf("%v %v", left, err)
	}
}

func TestCleanIngestsRemovesOnlyTheDead(t *testing.T) {
	s := newStore(t)
	alive, dead := newIngest(t, s), newIngest(t, s)
	defer alive.Close()
	kept, lost := fill(t, alive, "1"), fill(t, dead, "2")
	must(t, os.WriteFile(filepath.Join(s.Ingests(), "catalog_id-x"), nil, 0o400))
	must(t, dead.dir.Close()) // what the kernel does when a process dies
	listed, held, err := s.DeadIngests(nil)
	must(t, err)
	if len(listed) != 2 || !slices.Equal(held, []string{alive.path}) {
		t.Errorf("%v, held %v", listed, held)
	}
	if _, err := os.Stat(filepath.Join(dead.path, lost)); err != nil {
		t.Errorf("listing removed: %v", err)
	}
	cleaned, held, err := s.CleanIngests(nil)
	must(t, err)
	if !slices.Equal(held, []string{alive.path}) || len(cleaned) != 2 || !strings.Contains(strings.Join(cleaned, " "), dead.path) {
		t.Errorf("%v", cleaned)
	}
	if _, err := os.Stat(dead.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	must(t, alive.Publish(kept, digest("1")))
}

func TestIngestsWhileCleaning(t *testing.T) {
	s := newStore(t)
	stop := make(chan struct{})
	var cleaner, makers sync.WaitGroup
	cleaner.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if removed, _, err := s.CleanIngests(nil); len(removed) > 0 || err != nil {
				t.Errorf("removed %q, %v", removed, err)
			}
		}
	})
	for range 4 {
		makers.Go(func() {
			for range 50 {
				i, err := s.NewIngest("r")
				if err != nil {
					t.Error(err)
					return
				}
				_, f, err := i.Create()
				if err != nil {
					t.Errorf("a living ingest directory was removed: %v", err)
				} else {
					f.Close()
				}
				if err := i.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	close(stop)
	cleaner.Wait()
}

func TestNewIngestRefusesRunNames(t *testing.T) {
	s := newStore(t)
	for _, bad := range []string{"", "..", "a/b", "../x", "a\x00", strings.Repeat("x", 201)} {
		if i, err := s.NewIngest(bad); err == nil {
			t.Errorf("%q became %s", bad, i.path)
		}
	}
}

func TestSweepKeepsPublishersOut(t *testing.T) {
	s := newStore(t)
	release, err := s.Sweep()
	must(t, err)
	f, err := os.Open(s.blobs)
	must(t, err)
	defer f.Close()
	if err := flock.Try(f, flock.Shared); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("%v", err)
	}
	must(t, release())
	must(t, flock.Try(f, flock.Shared))
}

func TestPublishKeepsSweepOut(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	must(t, i.Publish(fill(t, i, "1"), digest("1")))
	f, err := os.Open(s.blobs)
	must(t, err)
	defer f.Close()
	if err := flock.Try(f, flock.Exclusive); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("%v", err)
	}
	must(t, i.Close())
	must(t, flock.Try(f, flock.Exclusive))
}

func TestPublishMakesAKnownBlobLookNew(t *testing.T) {
	s := newStore(t)
	sum := put(t, s, "1")
	path, err := s.Path(sum)
	must(t, err)
	past := time.Unix(1_000_000_000, 0)
	must(t, os.Chtimes(path, past, past))
	put(t, s, "1")
	must(t, s.Walk(nil, func(f Found) bool {
		if f.SHA256 != sum || !f.Modified.After(past) || f.Size != 1 {
			t.Errorf("%+v", f)
		}
		return true
	}))
}

func TestWalkSkipsOtherFiles(t *testing.T) {
	s := newStore(t)
	put(t, s, "1")
	put(t, s, "2")
	must(t, os.WriteFile(filepath.Join(s.dir, "sha256", "README"), nil, 0o600))
	must(t, os.Symlink("/etc/passwd", filepath.Join(s.dir, "sha256", digest("3"))))
	n := 0
	must(t, s.Walk(nil, func(Found) bool { n++; return true }))
	if n != 2 {
		t.Errorf("%d", n)
	}
	n = 0
	must(t, s.Walk(nil, func(Found) bool { n++; return false }))
	if n != 1 {
		t.Errorf("%d", n)
	}
}

func TestPublishRefusesAReplacedStore(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	defer i.Close()
	name := fill(t, i, "x")
	must(t, os.Rename(s.blobs, s.blobs+".old"))
	must(t, os.Mkdir(s.blobs, 0o700))
	if err := i.Publish(name, digest("x")); err == nil || !strings.Contains(err.Error(), "removed or replaced") {
		t.Error(err)
	}
}

// The next owner waits for the lock and resumes a file that a killed one has begun, or even made read-only.
func TestTakeIngestResumes(t *testing.T) {
	s := newStore(t)
	for _, mode := range []os.FileMode{0o600, 0o444} {
		killed, err := s.TakeIngest(t.Context(), "same")
		must(t, err)
		f, err := killed.Resume("file")
		must(t, err)
		_, err = f.WriteString("con")
		must(t, errors.Join(err, f.Chmod(mode), f.Close()))
		canceled, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if _, err := s.TakeIngest(canceled, "same"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("did not wait: %v", err)
		}
		cancel()
		killed.Leave()
		i, err := s.TakeIngest(t.Context(), "same")
		must(t, err)
		f, err = i.Resume("file")
		must(t, err)
		got, err := io.ReadAll(f)
		if string(got) != "con" || err != nil {
			t.Errorf("%q %v", got, err)
		}
		_, err = f.WriteString("tent")
		must(t, errors.Join(err, f.Close(), i.Publish("file", digest("content")), i.Sync(), i.Close(), s.Remove(digest("content"))))
	}
}

func TestPutVerifies(t *testing.T) {
	s := newStore(t)
	i := newIngest(t, s)
	defer i.Close()
	if _, err := i.Put(digest("good"), strings.NewReader("bad!")); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
	if _, err := s.Size(digest("good")); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if n, err := i.Put(digest("good"), strings.NewReader("good")); n != 4 || err != nil {
		t.Error(n, err)
	}
	if got, err := read(t, s, digest("good")); got != "good" || err != nil {
		t.Error(got, err)
	}
}

func TestTrySweepDoesNotWait(t *testing.T) {
	s := newStore(t)
	release, err := s.Hold(t.Context())
	must(t, err)
	if _, err := s.TrySweep(); !errors.Is(err, flock.ErrHeld) {
		t.Error(err)
	}
	must(t, release())
	release, err = s.TrySweep()
	must(t, err)
	must(t, release())
}
