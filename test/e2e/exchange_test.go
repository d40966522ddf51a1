package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// treasure is a directory of the caller with a text that must not turn up anywhere, and whose files must
// stay as they are.
type treasure struct {
	t           *testing.T
	dir, canary string
	before      map[string]string
}

// swapped is how many directories, and files in each, are swapped with the treasure's.
const swappedDirs, swappedFiles = 40, 50

func newTreasure(t *testing.T, canary string) treasure {
	t.Helper()
	dir := t.TempDir()
	for i := range swappedFiles {
		writeFile(t, filepath.Join(dir, fmt.Sprint(i)), canary, 0o644)
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	return treasure{t, dir, canary, snapshot(t, dir)}
}

// untouched checks that the treasure is as it was and that no regular file below the directories holds it.
func (tr treasure) untouched(dirs ...string) {
	tr.t.Helper()
	if after := snapshot(tr.t, tr.dir); !maps.Equal(tr.before, after) {
		tr.t.Errorf("files of the host changed:\n%s", changes(tr.before, after))
	}
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if bytes.Contains(content, []byte(tr.canary)) {
				err = fmt.Errorf("%s holds what is elsewhere on the host", path)
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			tr.t.Error(err)
		}
	}
}

// exchanger exchanges directories and files of a run with links to the treasure, as fast as it can.
type exchanger struct {
	tr    treasure
	bases []string // the directories of the run's files, now or later
	count atomic.Int64
	stop  chan struct{}
	done  sync.WaitGroup
}

// swap begins. The names are d0 to d39 with files 0 to 49; what they are exchanged with begins with x.
func (tr treasure) swap(bases ...string) *exchanger {
	tr.t.Helper()
	s := &exchanger{tr: tr, bases: bases, stop: make(chan struct{})}
	for i := range swappedDirs {
		if err := os.Symlink(tr.dir, filepath.Join(bases[0], fmt.Sprint("x", i))); err != nil {
			tr.t.Fatal(err)
		}
		for _, k := range []int{0, 25, 49} {
			link := filepath.Join(bases[0], fmt.Sprint("d", i), fmt.Sprint("x", k))
			if err := os.Symlink(filepath.Join(tr.dir, fmt.Sprint(k)), link); err != nil {
				tr.t.Fatal(err)
			}
		}
	}
	s.done.Add(1)
	go s.run()
	tr.t.Cleanup(s.end)
	return s
}

func (s *exchanger) run() {
	defer s.done.Done()
	for i := 0; ; i = (i + 1) % swappedDirs {
		select {
		case <-s.stop:
			return
		default:
		}
		for _, base := range s.bases {
			s.exchange(base, fmt.Sprint("d", i), fmt.Sprint("x", i))
			for _, k := range []int{0, 25, 49} {
				s.exchange(filepath.Join(base, fmt.Sprint("d", i)), fmt.Sprint(k), fmt.Sprint("x", k))
			}
		}
	}
}

// exchange needs no success: the run may have moved or removed the files.
func (s *exchanger) exchange(dir, a, b string) {
	fd, err := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if unix.Renameat2(fd, a, fd, b, unix.RENAME_EXCHANGE) == nil {
		s.count.Add(1)
	}
}

func (s *exchanger) end() {
	if s.stop != nil {
		close(s.stop)
		s.done.Wait()
		s.stop = nil
	}
}

// control: a reader that uses paths reads the treasure.
func (s *exchanger) fools(base string) {
	s.tr.t.Helper()
	until(s.tr.t, hangTimeout, "a reader by path is fooled", func() bool {
		for i := range swappedDirs {
			content, err := os.ReadFile(filepath.Join(base, fmt.Sprint("d", i), "7"))
			if err == nil && strings.Contains(string(content), s.tr.canary) {
				return true
			}
		}
		return false
	})
}

// openTree makes what is swapped, and lets every user of the host change it.
var openTree = fmt.Sprintf(`for i in $(seq 0 %d); do mkdir d$i; for k in $(seq 0 %d); do echo harmless >d$i/$k; done; done
chmod -R 777 .; echo ready; `, swappedDirs-1, swappedFiles-1) + awaited

// TestExchangesByTheHost lets a process of the caller swap a run's files with links while the launcher
// harvests, exports, keeps and removes them. (The analysis cannot: it is dead by then.)
func TestExchangesByTheHost(t *testing.T) {
	for _, keep := range []string{"never", "always"} {
		t.Run("keep "+keep, func(t *testing.T) {
			h := newHarness(t)
			tr := newTreasure(t, h.id("canary"))
			id, end := h.newID(), h.flag()
			l := h.launch(id, "--input", end.input(), "--keep", keep, "--export", "exported", "--", "sh", "-c", openTree)
			l.await("ready")
			dir := "/tmp/scidex-analysis-" + id
			s := tr.swap(filepath.Join(dir, "work"), dir)
			s.fools(filepath.Join(dir, "work"))
			end.raise()
			r := l.wait()
			if r.State == "error" { // it met a name that was exchanged, which says nothing about a file, when it measured or harvested
				r.expect(t, "error", r.Reason, 125)
			} else {
				r.expect(t, "complete", "exit", 0)
			}
			tr.untouched(h.root, h.path("exported"))
			h.do("rm", id) // may meet what is swapped, and then says so
			s.end()
			tr.untouched(h.root, dir)
			if s.count.Load() < 1000 {
				t.Errorf("%d exchanges: it proves nothing", s.count.Load())
			}
			if len(matches(dir)) > 0 {
				h.mustRun("rm", id)
			}
			h.gc() // what rm may have left when it met that
		})
	}
}
