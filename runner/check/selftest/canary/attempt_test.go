package canary

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check/attacks"
)

// The attempts succeed where nothing refuses them: one that cannot succeed proves nothing.
func TestAttemptsSucceedOutside(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("precious"), 0o640); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files := t.TempDir() // files stay
	for _, c := range []Attempt{
		{Do: "change directory", At: dir},
		{Do: "change file", At: file},
		{Do: "stat", At: file},
		{Do: "read", At: file},
		{Do: "read", At: dir},
		{Do: "read", At: "/proc/self/environ"},
		{Do: "read", At: "/proc/self/exe"},
		{Do: "read", At: "/proc/self/root/"},
		{Do: "entries", At: "/proc/self/fd"},
		{Do: "find process", At: filepath.Base(os.Args[0])},
		{Do: "socket", At: socket},
		{Do: "lookup", At: "localhost"},
		{Do: "memory", With: "33554432"},
		{Do: "fork", With: "20"},
		{Do: "cpus", With: "2"},
		{Do: "file", At: dir, With: "1048576"},
		{Do: "empty files", At: files, With: "3"},
	} {
		o := Perform(c)
		if len(o.Got) == 0 {
			t.Errorf("%+v: nothing", c)
		}
		for step, word := range o.Got {
			if word != OK {
				t.Errorf("%+v: %s: %s", c, step, word)
			}
		}
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "precious" {
		t.Errorf("the file holds %q, %v", raw, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o640 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil || limit.Cur == 0 {
		t.Errorf("files may have %d bytes now, %v", limit.Cur, err)
	}
}

// A file on a file system without a size limit of its own is not changed either.
func TestChangeIsHarmlessOnTmpfs(t *testing.T) {
	file := filepath.Join("/dev/shm", uniqueName(t))
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	for step, word := range changeFile(file).Got {
		if word != OK {
			t.Errorf("%s: %s", step, word)
		}
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "precious" {
		t.Errorf("the file holds %d bytes, %v", len(raw), err)
	}
}

// The attempts report what refuses them.
func TestAttemptsAreRefused(t *testing.T) {
	for _, c := range []struct {
		attempt Attempt
		want    string
	}{
		{Attempt{Do: "change directory", At: "/none"}, "chmod ENOENT, create ENOENT, mkdir ENOENT"},
		{Attempt{Do: "stat", At: "/none"}, "ENOENT"},
		{Attempt{Do: "read", At: "/none"}, "ENOENT"},
		{Attempt{Do: "entries", At: "/none"}, "ENOENT"},
		{Attempt{Do: "find process", At: strings.Repeat("no such", 3) + "process"}, "ENOENT"},
		{Attempt{Do: "attach", At: "123454321"}, "ENOENT"},
		{Attempt{Do: "socket", At: "/none"}, "ENOENT"},
		{Attempt{Do: "socket", At: "@scidex-selftest-none"}, "ECONNREFUSED"},
		{Attempt{Do: "tcp", At: "127.0.0.1:1"}, "ECONNREFUSED"},
		{Attempt{Do: "dns", At: "127.0.0.1:1"}, "ECONNREFUSED"},
		{Attempt{Do: "file", At: "/none", With: "1"}, "ENOENT"},
		{Attempt{Do: "empty files", At: "/none", With: "1"}, "ENOENT"},
		{Attempt{Do: "signal", At: "1"}, "own"},
		{Attempt{Do: "signal", At: "-1"}, "error"},
		{Attempt{Do: "signal", At: "0"}, "error"},
		{Attempt{Do: "memory", With: "much"}, "error"},
		{Attempt{Do: "dance", With: "1"}, "error"},
	} {
		o := Perform(c.attempt)
		got := o.String()
		if len(o.Got) == 1 {
			_, got, _ = strings.Cut(got, " ")
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.attempt, got, c.want)
		}
	}
}

// The attempts of marks find them, and those of other marks do not.
func TestMarksAreFound(t *testing.T) {
	m := unusedMarks(t)
	if err := m.leave(); err != nil {
		t.Fatal(err)
	}
	defer os.Remove("/tmp/" + m.Name)
	defer os.Remove("/dev/shm/" + m.Name)
	defer func() {
		if id, err := unix.SysvShmGet(m.Key, 0, 0); err == nil {
			_, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		}
	}()
	other := unusedMarks(t)
	for i, s := range m.List() {
		want := OK
		if s.What == "process" {
			want = "ENOENT" // the name is an argument of no process here
		}
		if got := Perform(s.Attempt); len(got.Got) != 1 || got.Got[s.Step] != want {
			t.Errorf("%s: %v", s.What, got.Got)
		}
		s = other.List()[i]
		if got := Perform(s.Attempt); len(got.Got) != 1 || !attacks.Held(s.Attack, got.Got[s.Step]) {
			t.Errorf("%s of another: %v", s.What, got.Got)
		}
	}
}

// unusedMarks returns marks with a free port. Listeners stay until the process ends, so with -count a random port may be in use.
func unusedMarks(t *testing.T) Marks {
	t.Helper()
	for {
		m := NewMarks(uniqueName(t))
		c, err := net.Dial("tcp", m.address())
		if err != nil {
			return m
		}
		_ = c.Close()
	}
}

// uniqueName is a name for what is the whole host's, such as an abstract socket: no other test process has it.
func uniqueName(t *testing.T) string {
	t.Helper()
	return "selftest-" + filepath.Base(filepath.Dir(t.TempDir())) + "-" + strconv.FormatInt(names.Add(1), 10)
}

// names counts those of this process.
var names atomic.Int64

// More than an outcome can list makes it partial.
func TestConnectBelowMany(t *testing.T) {
	dir := t.TempDir()
	for i := range maxListed + 1 {
		if err := unix.Mkfifo(filepath.Join(dir, strconv.Itoa(i)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if o := Perform(Attempt{Do: "connect below", At: dir}); len(o.Got) != maxListed || o.Count != maxListed+1 || !o.Partial {
		t.Errorf("%d listed, %d counted, partial %v", len(o.Got), o.Count, o.Partial)
	}
}
