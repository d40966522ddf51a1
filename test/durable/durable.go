// Package durable checks that what is written outlives a power cut. Only a power cut shows a forgotten fsync(2), so the package
// watches the system calls instead: a file is synced before it gets its name, and the directory after that.
package durable

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// Check calls do and fails the test for each file that rename(2) or link(2) gave a name before the file was synced, and for
// each name that one of these or mkdir(2) made whose directory was not synced by the end. It sees the calls that do makes itself,
// not those of other goroutines. do must give at least one file its name, and must not use t.FailNow.
func Check(t testing.TB, do func() error) {
	t.Helper()
	w := newWatch()
	failed := make(chan error, 1)
	listener := make(chan int, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with its filter
		fd, err := listen()
		listener <- fd
		if err == nil {
			err = do()
		}
		failed <- err
	}()
	fd := <-listener
	if fd < 0 {
		t.Fatalf("watch system calls: %v", <-failed)
	}
	defer unix.Close(fd)
	done, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer done.Close()
	served := make(chan error, 1)
	go func() { served <- serve(fd, int(done.Fd()), w.note) }()
	if err := errors.Join(<-failed, end.Close(), <-served); err != nil {
		t.Errorf("the call that is checked: %v", err)
	}
	w.tell(t)
}

// inode identifies a file.
type inode struct{ dev, ino uint64 }

// content is how far a file was written.
type content struct {
	size  int64
	mtime unix.Timespec
}

// watch is what the calls have made durable so far.
type watch struct {
	synced map[inode]content
	open   map[inode][]string // directories with names that are not synced yet, and these
	names  int
	faults []string
}

func newWatch() *watch { return &watch{synced: map[inode]content{}, open: map[inode][]string{}} }

func (w *watch) tell(t testing.TB) {
	t.Helper()
	for _, fault := range w.faults {
		t.Error(fault)
	}
	for _, name := range slices.Concat(slices.Collect(maps.Values(w.open))...) {
		if _, err := os.Lstat(name); err == nil { // else it was removed again
			t.Errorf("%s: its directory is not synced after it got the name", name)
		}
	}
	if w.names == 0 {
		t.Error("no file got a name")
	}
}

// sync notes that a file or directory is durable.
func (w *watch) sync(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return // the call fails as well
	}
	w.synced[idOf(&st)] = contentOf(&st)
	delete(w.open, idOf(&st))
}

// name notes that a file gets a name.
func (w *watch) name(from *unix.Stat_t, to string) {
	w.names++
	if from.Mode&unix.S_IFMT == unix.S_IFREG && w.synced[idOf(from)] != contentOf(from) {
		w.faults = append(w.faults, fmt.Sprintf("%s: the file is not synced before it gets the name", to))
	}
	w.enter(to)
}

// enter notes that a directory gets a name in it.
func (w *watch) enter(name string) {
	var st unix.Stat_t
	dir, err := filepath.EvalSymlinks(filepath.Dir(name)) // a descriptor may be closed by the end
	if err == nil {
		err = unix.Stat(dir, &st)
	}
	if err != nil {
		w.faults = append(w.faults, (&os.PathError{Op: "stat", Path: filepath.Dir(name), Err: err}).Error())
		return
	}
	w.open[idOf(&st)] = append(w.open[idOf(&st)], filepath.Join(dir, filepath.Base(name)))
}

func idOf(st *unix.Stat_t) inode { return inode{st.Dev, st.Ino} }

func contentOf(st *unix.Stat_t) content { return content{st.Size, st.Mtim} }
