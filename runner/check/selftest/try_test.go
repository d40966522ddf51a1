package selftest

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The tries succeed where nothing stands in their way: one that cannot succeed proves nothing.
func TestTriesSucceedOutside(t *testing.T) {
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
	pile := t.TempDir() // what is piled up stays
	for _, c := range []try{
		{Do: "spoil", At: dir},
		{Do: "change", At: file},
		{Do: "stat", At: file},
		{Do: "read", At: file},
		{Do: "read", At: dir},
		{Do: "read", At: "/proc/self/environ"},
		{Do: "read", At: "/proc/self/exe"},
		{Do: "read", At: "/proc/self/root/"},
		{Do: "entries", At: "/proc/self/fd"},
		{Do: "named", At: filepath.Base(os.Args[0])},
		{Do: "socket", At: socket},
		{Do: "lookup", At: "localhost"},
		{Do: "hog", With: "33554432"},
		{Do: "fork", With: "20"},
		{Do: "burn", With: "2"},
		{Do: "fill", At: dir, With: "1048576"},
		{Do: "litter", At: pile, With: "3"},
	} {
		o := perform(c)
		if len(o.Got) == 0 {
			t.Errorf("%+v: nothing", c)
		}
		for step, word := range o.Got {
			if word != succeeded {
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

// Where a file may be changed on a file system without a bound of its own, the try changes nothing either.
func TestChangeIsHarmlessOnTmpfs(t *testing.T) {
	file := filepath.Join("/dev/shm", uniqueName(t))
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	for step, word := range change(file).Got {
		if word != succeeded {
			t.Errorf("%s: %s", step, word)
		}
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "precious" {
		t.Errorf("the file holds %d bytes, %v", len(raw), err)
	}
}

// And they tell when something does.
func TestTriesAreRefused(t *testing.T) {
	for _, c := range []struct {
		try  try
		want string
	}{
		{try{Do: "spoil", At: "/none"}, "chmod ENOENT, create ENOENT, mkdir ENOENT"},
		{try{Do: "stat", At: "/none"}, "ENOENT"},
		{try{Do: "read", At: "/none"}, "ENOENT"},
		{try{Do: "entries", At: "/none"}, "ENOENT"},
		{try{Do: "named", At: strings.Repeat("no such", 3) + "process"}, "ENOENT"},
		{try{Do: "shm", At: "123454321"}, "ENOENT"},
		{try{Do: "socket", At: "/none"}, "ENOENT"},
		{try{Do: "socket", At: "@scidex-selftest-none"}, "ECONNREFUSED"},
		{try{Do: "tcp", At: "127.0.0.1:1"}, "ECONNREFUSED"},
		{try{Do: "dns", At: "127.0.0.1:1"}, "ECONNREFUSED"},
		{try{Do: "fill", At: "/none", With: "1"}, "ENOENT"},
		{try{Do: "litter", At: "/none", With: "1"}, "ENOENT"},
		{try{Do: "signal", At: "1"}, "own"},
		{try{Do: "signal", At: "-1"}, "error"},
		{try{Do: "signal", At: "0"}, "error"},
		{try{Do: "hog", With: "much"}, "error"},
		{try{Do: "dance", With: "1"}, "error"},
	} {
		o := perform(c.try)
		got := o.String()
		if len(o.Got) == 1 {
			_, got, _ = strings.Cut(got, " ")
		}
		if got != c.want {
			t.Errorf("%+v: %s, want %s", c.try, got, c.want)
		}
	}
}

// The marks that a canary leaves are found by the tries that look for them, and only those.
func TestMarksAreFound(t *testing.T) {
	m, err := newMarks(uniqueName(t))
	if err != nil {
		t.Fatal(err)
	}
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
	other, err := newMarks("other-" + uniqueName(t))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range m.signs() {
		want := succeeded
		if s.what == "process" {
			want = "ENOENT" // the name is an argument of no process here
		}
		if got := perform(s.try); len(got.Got) != 1 || got.Got[s.step] != want {
			t.Errorf("%s: %v", s.what, got.Got)
		}
		s = other.signs()[i]
		if result, detail := refused([]string{s.step}, s.gone...)(perform(s.try)); result != Pass {
			t.Errorf("%s of another: %s, %s", s.what, result, detail)
		}
	}
}

func TestSearch(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "a/b/.s.PGSQL.5432"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := view{inputs: []bind{{source: dir, inside: "/data"}}}
	o := search(dir, nil)
	if o.Count != 4 || o.Partial || o.Got[dir+"/a/b/.s.PGSQL.5432"] != "socket ok" || o.Got[dir+"/fifo"] != "fifo ok" || len(o.Got) != 2 {
		t.Fatalf("%+v", o)
	}
	for _, c := range []struct {
		name, at, said string
		want           Result
		words          []string
	}{
		{"reached", "/data/a/b/.s.PGSQL.5432", "socket ok", Fail, []string{"/data/a/b/.s.PGSQL.5432", dir + "/a/b/.s.PGSQL.5432", "ok"}},
		{"refused, while it answers", "/data/a/b/.s.PGSQL.5432", "socket ECONNREFUSED", Pass, []string{"answers on the host"}},
		{"refused, and nobody is there", "/data/other", "socket ECONNREFUSED", Inconclusive, []string{"nobody answers"}},
		{"of nowhere", "/run/x", "socket ECONNREFUSED", Inconclusive, nil},
		{"slow", "/data/a/b/.s.PGSQL.5432", "socket timeout", Inconclusive, nil},
		{"odd", "/data/a/b/.s.PGSQL.5432", "socket EBADF", Fail, nil},
		{"a FIFO", "/data/fifo", "fifo ok", Fail, nil},
		{"a closed FIFO", "/data/fifo", "fifo ENXIO", Pass, nil},
		{"a lie", "/data/a/b/.s.PGSQL.5432", "", Fail, nil},
		{"another lie", "/data/a/b/.s.PGSQL.5432", "nothing", Fail, nil},
	} {
		result, detail := sealed(v)(got(c.at, c.said))
		if result != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, result, detail, c.want)
		}
		for _, word := range c.words {
			if !strings.Contains(detail, word) {
				t.Errorf("%s: no %q in %q", c.name, word, detail)
			}
		}
	}
	if result, _ := sealed(v)(outcome{Count: 3}); result != Pass {
		t.Errorf("none: %s", result)
	}
	if result, _ := sealed(v)(outcome{Count: 3, Partial: true}); result != Inconclusive {
		t.Errorf("none as far as it came: %s", result)
	}
}
