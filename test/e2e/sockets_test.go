package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socketTargets is the input of sockets.py.
type socketTargets struct {
	Database database `json:"database"`
	Bases    []string `json:"bases"`   // directories
	Streams  []string `json:"streams"` // what in each of them leads to the database in the end
	Seen     []string `json:"seen"`    // names that are looked up before they are sockets
	Sockets  []string `json:"sockets"` // of the server
	End      string   `json:"end"`     // the file that it waits for, if any
}

// plant makes sockets, a FIFO and links to sockets in a directory in which the analysis looks for them, and returns
// what they received.
func (db database) plant(t *testing.T, dir string) (heard func() []string) {
	t.Helper()
	aside := t.TempDir() // what is moved in when it is whole
	for _, path := range []string{filepath.Join(dir, "late"), filepath.Join(dir, "seen"), aside + "/replaced", aside + "/moved/late"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		db.relay(t, "unix", path)
		open(t, path)
	}
	for _, name := range []string{"replaced", "moved"} {
		if err := os.Rename(filepath.Join(aside, name), filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	db.link(t, dir)
	return listenBeside(t, dir)
}

// open gives everyone every right.
func open(t *testing.T, path string) {
	t.Helper()
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
}

// link makes links to the server's sockets: a hard one, if the kernel allows it, and symbolic ones.
func (db database) link(t *testing.T, dir string) {
	t.Helper()
	if err := os.Link(filepath.Join(dir, "late"), filepath.Join(dir, "hard")); err != nil {
		t.Fatal(err)
	}
	for i, path := range db.Sockets {
		for name, target := range map[string]string{"link": path, "directory": filepath.Dir(path)} {
			if err := os.Symlink(target, filepath.Join(dir, fmt.Sprint(name, i))); err != nil {
				t.Fatal(err)
			}
		}
	}
	hard := filepath.Join(dir, "hard-of-server")
	if !slices.ContainsFunc(db.Sockets, func(path string) bool { return os.Link(path, hard) == nil }) {
		// They are another user's or on another file system.
		if err := os.Link(filepath.Join(dir, "late"), hard); err != nil {
			t.Fatal(err)
		}
	}
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	other, otherErr := os.Lstat(b)
	return err == nil && otherErr == nil && os.SameFile(one, other)
}

// streams are the names that plant and link make.
func (db database) streams() []string {
	names := []string{"late", "seen", "replaced", "moved/late", "hard", "hard-of-server"}
	for i := range db.Sockets {
		names = append(names, fmt.Sprint("link", i), fmt.Sprintf("directory%d/.s.PGSQL.%d", i, db.Port))
	}
	return names
}

// listenBeside makes sockets of other types, and returns which of them were reached.
func listenBeside(t *testing.T, dir string) (heard func() []string) {
	t.Helper()
	silent := listenSilently(t, dir+"/")
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	reader, err := os.OpenFile(fifo, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	for _, name := range []string{"packet", "datagram", "fifo"} {
		open(t, filepath.Join(dir, name))
	}
	return func() []string {
		found := silent.heard()
		_ = reader.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		if n, _ := reader.Read(make([]byte, 100)); n > 0 {
			found = append(found, "fifo")
		}
		return found
	}
}

// base makes a directory with one file, which is to be replaced by a socket.
func (h *harness) base(name string) string {
	h.t.Helper()
	dir := filepath.Dir(h.write(name+"/replaced", "a regular file", 0o666))
	open(h.t, dir)
	return dir
}

// encode makes the argument of an attack program.
func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestSocketPaths reads the canary outside by every path to a socket: the server's own, and those that appear in a
// directory of the analysis after it has looked. Inside none works.
func TestSocketPaths(t *testing.T) {
	h, db := newHarness(t), theDatabase(t)
	plain := h.base("plain")
	heard := db.plant(t, plain)
	at := socketTargets{Database: db, Bases: []string{plain}, Streams: db.streams(), Sockets: db.Sockets, Seen: []string{"seen", "replaced", "moved/late"}}
	if sameFile(filepath.Join(plain, "hard-of-server"), filepath.Join(plain, "late")) {
		fmt.Printf("%s does not cover a hard link of a socket of the server: the kernel allows none\n", t.Name())
	}
	before := db.connections(t)
	reached := 1 // the connection that requested the number
	outside(t, "sockets.py", encode(t, at)).each(t, func(name, got string) string {
		if strings.Contains(name, "/proc/1/root") && got == "EACCES" {
			return "" // the host's own init is another's, or protects itself
		}
		if !slices.ContainsFunc([]string{"packet", "datagram", "fifo"}, func(end string) bool { return strings.HasSuffix(name, end) }) {
			reached++
		}
		return unless(got == "ok", "want ok outside, or it proves nothing")
	})
	after := db.connections(t)
	if got := heard(); after-before != reached || len(got) != 3 {
		t.Errorf("the server tells of %d connections, want %d; %q were reached besides, want three: it proves nothing", after-before, reached, got)
	}

	shared := h.base("shared")
	for _, name := range []string{"attacks/lib/attempt.py", "attacks/lib/postgres.py", "turn.py", "sockets.py"} {
		h.write("shared/"+name, readFile(t, testdata(t, name)), 0o644)
	}
	end := h.flag()
	at.Bases, at.End = []string{"/data", "data", "/docs", "/inputs/more", "/analysis"}, "/inputs/flag"
	l := h.launch(h.newID(), "--data", shared, "--docs", shared, "--input", shared+":/inputs/more", "--input", end.input(),
		"--project", shared, "--script", filepath.Join(shared, "sockets.py"), encode(t, at))
	l.await("ready")
	heard = db.plant(t, shared)
	end.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	if r.Sandbox.SocketWall != "overlay" {
		t.Fatalf("socket_wall is %q: nothing but the scan keeps sockets away here", r.Sandbox.SocketWall)
	}
	decodeVerdicts(t, []byte(h.stdoutOf(r))).each(t, func(_, got string) string {
		return unless(slices.Contains(noSocket, got), "want it to reach nothing")
	})
	if n := db.connections(t) - after; n != 1 {
		t.Errorf("the server tells of %d connections while the analysis ran, one of them ours", n)
	}
	if got := heard(); len(got) > 0 {
		t.Errorf("%q were reached", got)
	}
}

// noSocket are the kernel's errors for a path that leads to no live socket: missing, without a listener (of an
// overlay), a FIFO without a reader, still the regular file, no link across mounts, or another's directory.
var noSocket = []string{"ENOENT", "ECONNREFUSED", "ENXIO", "EROFS", "EXDEV", "EACCES"}

// TestPlacesOfSocketsAreRefused binds the directories of the server's sockets, those above them, the sockets
// themselves and links to any of them.
func TestPlacesOfSocketsAreRefused(t *testing.T) {
	h, db := newHarness(t), theDatabase(t)
	for i, socket := range db.Sockets {
		dir := filepath.Dir(socket)
		link, chain := h.path(fmt.Sprint("link", i)), h.path(fmt.Sprint("chain", i))
		for at, to := range map[string]string{link: dir, chain: link} {
			if err := os.Symlink(to, at); err != nil {
				t.Fatal(err)
			}
		}
		for _, source := range []string{dir, filepath.Dir(dir), link, chain, "/proc/self/root" + dir, socket} {
			flags := [][]string{{"--data", source}, {"--docs", source}, {"--project", source}, {"--input", source}, {"--input", source + ":/inputs/there"}}
			for _, flag := range flags {
				h.mustRefuse(slices.Concat([]string{"run"}, flag, []string{"--", "true"}), strings.TrimPrefix(flag[0], "--"))
			}
		}
	}
}
