package e2e

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// socket makes a unix socket with a listener in the caller's directory, and returns a short path to it: the name of a
// unix socket has 108 bytes at most (unix(7)).
func (h *harness) socket(name string) (reach func() error) {
	h.t.Helper()
	path := h.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { dir.Close() })
	short := fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path))
	l, err := net.Listen("unix", short)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
	return func() error {
		c, err := net.Dial("unix", short)
		if err != nil {
			return err
		}
		return c.Close()
	}
}

// refusedBind is a bind that must be refused, with the words of the sentence.
type refusedBind struct {
	path  string   // in the caller's directory
	words []string // a way out is always among them
}

// bindFlags are all by which a directory of the host is shown or copied.
var bindFlags = []string{"--data", "--docs", "--project", "--input", "--stage"}

// refuseBinds checks that every flag refuses every path, and that each accepts the directory good.
func (h *harness) refuseBinds(binds []refusedBind) {
	h.t.Helper()
	h.write("good/file", "good", 0o644)
	for _, flag := range bindFlags {
		h.start("--id", h.newID(), flag, "good", "--", "true").expect(h.t, "complete", "exit", 0)
		for _, b := range binds {
			path := b.path
			if flag == "--input" {
				path += ":/inputs/it"
			}
			h.mustRefuse([]string{"run", "--id", h.newID(), flag, path, "--", "true"}, append([]string{flag}, b.words...)...)
		}
	}
}

// TestNoSocketIsBound: a run is refused if a directory that it binds, by whatever flag, has a socket that answers.
func TestNoSocketIsBound(t *testing.T) {
	h := newHarness(t)
	h.write("shelf/a/file", "x", 0o644)
	reach := h.socket("shelf/a/b/s")
	if err := reach(); err != nil {
		t.Fatalf("the socket does not answer outside: %v", err)
	}
	for name, target := range map[string]string{"link": "shelf", "deep-link": "shelf/a/b"} {
		if err := os.Symlink(target, h.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	for path, found := range map[string]string{"shelf": "a/b/s", "shelf/a": "b/s", "shelf/a/b": "s", "link": "a/b/s", "deep-link": "s", ".": "shelf/a/b/s"} {
		for _, flag := range []string{"--data", "--docs", "--project", "--input"} {
			h.mustRefuse([]string{"run", "--id", h.newID(), flag, path, "--", "true"}, flag, "a unix socket", `"`+found+`"`, "remove it")
		}
	}
	// Directories next to it may be bound, and copies have no sockets in them.
	h.start("--id", h.newID(), "--input", "shelf/a/file", "--", "cat", "/inputs/file").expect(t, "complete", "exit", 0)
	r := h.start("--id", h.newID(), "--stage", "shelf", "--", "sh", "-c", "! test -e a/b/s && cat a/file")
	r.expect(t, "complete", "exit", 0)
}

// TestPostgresDirectories: directories in which PostgreSQL listens cannot be bound, nor those in them or above them.
func TestPostgresDirectories(t *testing.T) {
	h := newHarness(t)
	h.write("pg/sockets/inner/file", "x", 0o644)
	reach := h.socket("pg/sockets/.s.PGSQL.5432")
	if err := reach(); err != nil {
		t.Fatalf("the socket does not answer outside: %v", err)
	}
	if err := os.Symlink("pg/sockets", h.path("link")); err != nil {
		t.Fatal(err)
	}
	h.start("--id", h.newID(), "--data", "pg/sockets/inner", "--", "true").expect(t, "complete", "exit", 0)
	h.setenv("PGHOST", h.path("pg/sockets")+",localhost")
	const what = "where PostgreSQL has its sockets"
	h.refuseBinds([]refusedBind{
		{"pg/sockets", flags("is "+what, "choose another")},
		{"link", flags("is "+what, h.path("pg/sockets"))},
		{"pg/sockets/inner", flags("lies in", h.path("pg/sockets"), what, "choose another")},
		{"pg", flags("holds", h.path("pg/sockets"), what, "the part of it")},
		{".", flags("holds", what)},
		{"/tmp", flags("/tmp")}, // where also root and working directories are
		{"/", flags("holds", "the part of it")},
		{"/run", flags("holds", "the part of it")},
	})
	for _, dir := range []string{"/run/postgresql", "/var/run/postgresql"} {
		if _, err := os.Stat(dir); err == nil {
			h.mustRefuse([]string{"run", "--data", dir, "--", "true"}, "--data", dir, what)
		}
	}
	// By PostgreSQL's own default /tmp is one too, also if nothing else forbids it.
	elsewhere, err := os.MkdirTemp("/var/tmp", "e2e-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(elsewhere) })
	h.setenv("SCIDEX_OCI_TMP", elsewhere)
	h.setenv("SCIDEX_OCI_ROOT", elsewhere+"/root")
	h.mustRefuse([]string{"run", "--data", "/tmp", "--", "true"}, `--data "/tmp" is `+what)
	h.start("--id", h.newID(), "--data", "good", "--", "true").expect(t, "complete", "exit", 0)
}

// TestOwnSockets: sockets that the launcher's environment names are not shown.
func TestOwnSockets(t *testing.T) {
	for variable, form := range map[string]string{
		"SSH_AUTH_SOCK": "%s", "NOTIFY_SOCKET": "%s", "WAYLAND_DISPLAY": "%s", "GPG_AGENT_INFO": "%s:1:1", "DOCKER_HOST": "unix://%s",
		"CONTAINER_HOST": "unix://%s", "DBUS_SESSION_BUS_ADDRESS": "unix:path=%s,guid=0", "DBUS_SYSTEM_BUS_ADDRESS": "tcp:host=x;unix:path=%s",
		"XDG_RUNTIME_DIR": "%s",
	} {
		t.Run(variable, func(t *testing.T) {
			h := newHarness(t)
			h.write("above/here/file", "x", 0o644)
			args := []string{"run", "--id", h.newID(), "--data", "above", "--", "true"}
			h.mustRun(args...)
			h.setenv(variable, fmt.Sprintf(form, h.path("above/here/socket"))) // which comes when it wants
			h.mustRefuse(append(args[:2:2], append([]string{h.newID()}, args[3:]...)...), "--data", "holds", h.path("above/here/socket"), variable, "the part of it")
		})
	}
}

// TestOwnFiles: catalog, blobs and locks, and the directory of working directories, cannot be bound.
func TestOwnFiles(t *testing.T) {
	h := newHarness(t)
	tmp, other := h.path("tmp"), h.path("other")
	for _, dir := range []string{tmp, other} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.setenv("SCIDEX_OCI_TMP", tmp)
	h.mustRun("ls")
	// The refusal must not come from the mode.
	for _, path := range []string{h.root, h.root + "/blobs", h.root + "/catalog.db"} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, target := range map[string]string{"link": h.root, "other/catalog": h.root + "/catalog.db"} {
		if err := os.Symlink(target, h.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(h.root+"/catalog.db", h.path("hard")); err != nil {
		t.Fatal(err)
	}
	const what = "where scidex-oci keeps its catalog"
	h.refuseBinds([]refusedBind{
		{h.root, flags("is "+what, "choose another")},
		{"link", flags("is "+what, h.root)},
		{h.root + "/blobs", flags("lies in", h.root, what)},
		{filepath.Dir(h.root), flags("holds", h.root, "the part of it")},
		{"tmp", flags("is where runs have their working directories (--tmp)")},
		{".", flags("holds", tmp)},
	})
	for _, path := range []string{h.root + "/catalog.db", "other/catalog", "hard"} {
		h.mustRefuse([]string{"run", "--id", h.newID(), "--input", path, "--", "true"}, "--input", what)
	}
	script := filepath.Join(h.root, "s.sh")
	writeFile(t, script, "echo x", 0o644)
	h.mustRefuse([]string{"run", "--id", h.newID(), "--script", script}, "--script", "lies in", what)
	// A catalog and blobs elsewhere are found too.
	h.setenv("SCIDEX_OCI_ROOT", filepath.Join(filepath.Dir(h.root), "root2"))
	h.setenv("SCIDEX_OCI_DB", "sqlite://"+h.path("other/db/c.db"))
	h.setenv("SCIDEX_OCI_BLOBS", "file://"+h.path("other/blobs"))
	h.mustRefuse([]string{"run", "--id", h.newID(), "--data", "other", "--", "true"}, "holds", h.path("other/db/c.db"), what)
	if err := os.Chmod(h.path("other/blobs"), 0o755); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse([]string{"run", "--id", h.newID(), "--data", "other/blobs", "--", "true"}, "is "+what)
}

// TestWorkingDirectoriesOfOthers: that of a run cannot be bound while the run lives, also by a launcher with another
// root; a kept one can.
func TestWorkingDirectoriesOfOthers(t *testing.T) {
	h, other := newHarness(t), newHarness(t)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--keep", "always", "--input", end.input(), "--", "sh", "-c", "echo kept >out; echo ready; "+awaited)
	l.await("ready")
	dir := "/tmp/scidex-analysis-" + id
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // its mode must not be what refuses it
		t.Fatal(err)
	}
	for _, who := range []*harness{h, other} {
		who.mustRefuse([]string{"run", "--data", dir, "--", "true"}, "--data", dir, "has not ended", "wait for its end")
		who.mustRefuse([]string{"run", "--stage", dir, "--", "true"}, "--stage", dir, "has not ended")
	}
	end.raise()
	r := l.wait()
	r.expect(t, "complete", "exit", 0)
	for _, path := range []string{dir, dir + "/out"} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	again := other.start("--id", other.newID(), "--data", dir, "--", "cat", "/data/out")
	again.expect(t, "complete", "exit", 0)
	if got := other.stdoutOf(again); got != "kept\n" {
		t.Errorf("it read %q", got)
	}
	h.mustRun("rm", id)
}

// TestMountedElsewhere: a bind mount does not get round these refusals.
func TestMountedElsewhere(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can mount; the tests as root do")
		return
	}
	h := newHarness(t)
	h.write("pg/sockets/inner/file", "x", 0o644)
	h.write("shelf/sub/file", "x", 0o644)
	if err := h.socket("pg/sockets/.s.PGSQL.5432")(); err != nil {
		t.Fatal(err)
	}
	h.setenv("PGHOST", h.path("pg/sockets"))
	h.mustRun("ls")
	for from, words := range map[string][]string{
		"pg/sockets":       {"is where PostgreSQL has its sockets"},
		"pg":               {"holds", "where PostgreSQL has its sockets"},
		"pg/sockets/inner": {"lies in", "where PostgreSQL has its sockets"},
		h.root:             {"where scidex-oci keeps its catalog"},
		h.root + "/blobs":  {"lies in", "where scidex-oci keeps its catalog"},
		"/":                {"holds"},
	} {
		at := h.path("elsewhere")
		if !filepath.IsAbs(from) {
			from = h.path(from)
		}
		_ = os.Mkdir(at, 0o755) // it is there from the second round on
		if err := unix.Mount(from, at, "", unix.MS_BIND, ""); err != nil {
			t.Fatal(err)
		}
		out := h.do("run", "--id", h.newID(), "--data", at, "--", "true")
		below := h.do("run", "--id", h.newID(), "--data", ".", "--", "true")
		if err := unix.Unmount(at, 0); err != nil {
			t.Fatal(err)
		}
		if out.code != 125 || below.code != 125 {
			t.Errorf("%s: exit codes %d and %d", from, out.code, below.code)
		}
		if !strings.Contains(out.stderr, "mode 0700") { // of the root, which root's runs cannot read either
			checkSentence(t, out.stderr, words...)
		}
	}
	at := h.path("shelf/sub")
	if err := unix.Mount("tmpfs", at, "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Error(err)
		}
	}()
	h.mustRefuse([]string{"run", "--id", h.newID(), "--data", "shelf", "--", "true"}, "--data", at, "is mounted below it", "--input")
}

// TestSomebodyElsesDirectory: a name that another user has taken is refused and not changed.
func TestSomebodyElsesDirectory(t *testing.T) {
	if !theHost.root {
		t.Log("not covered here: only root can make what is another user's; the tests as root do")
		return
	}
	const nobody = 65534
	for name, take := range map[string]func(path, victim string) error{
		"directory": func(path, _ string) error { return os.Mkdir(path, 0o777) },
		"file":      func(path, _ string) error { return os.WriteFile(path, []byte("theirs"), 0o666) },
		"symlink":   func(path, victim string) error { return os.Symlink(victim, path) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			victim := filepath.Dir(h.write("victim/file", "precious", 0o644))
			id := h.newID()
			path := "/tmp/scidex-analysis-" + id
			if err := take(path, victim); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(path) })
			if err := os.Lchown(path, nobody, nobody); err != nil {
				t.Fatal(err)
			}
			before, target := fmt.Sprint(snapshot(t, path)), fmt.Sprint(snapshot(t, victim))
			h.mustRefuse([]string{"run", "--id", id, "--", "sh", "-c", "echo x >x"}, path, "--id")
			h.gc()
			if after := fmt.Sprint(snapshot(t, path)); before != after {
				t.Errorf("before %v, after %v", before, after)
			}
			if after := fmt.Sprint(snapshot(t, victim)); target != after {
				t.Errorf("the victim before %v, after %v", target, after)
			}
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRemembersLargeTrees: the second scan of a large directory uses what the first found, and finds what is new.
func TestRemembersLargeTrees(t *testing.T) {
	h := newHarness(t)
	one := h.write("data/one", "x", 0o644)
	for i := range 11_000 {
		dir := h.path(fmt.Sprintf("data/d%02d", i/1000))
		if err := os.Mkdir(dir, 0o755); err != nil && i%1000 == 0 {
			t.Fatal(err)
		}
		if err := os.Link(one, fmt.Sprintf("%s/%d", dir, i)); err != nil {
			t.Fatal(err)
		}
	}
	h.write("small/file", "x", 0o644)
	h.start("--id", h.newID(), "--data", "small", "--", "true").expect(t, "complete", "exit", 0)
	if made := matches(h.root + "/scans*"); len(made) > 0 {
		t.Errorf("a small directory made %q", made)
	}
	for range 2 {
		h.start("--id", h.newID(), "--data", "data", "--", "true").expect(t, "complete", "exit", 0)
	}
	for _, file := range matches(h.root + "/scans/*") {
		if info, err := os.Lstat(file); err != nil || info.Mode() != 0o600 {
			t.Errorf("%s: %v, %v", file, info, err)
		}
	}
	if err := unix.Mkfifo(h.path("data/d07/pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	h.mustRefuse([]string{"run", "--id", h.newID(), "--data", "data", "--", "true"}, "a FIFO", `"d07/pipe"`)
}
