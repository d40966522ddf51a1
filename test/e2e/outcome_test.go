package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// wall keeps a catalog from taking commits until it is removed. Intents pass.
type wall struct{ raise, tear func() }

// walls are those of both catalogs.
func walls(t *testing.T, test func(t *testing.T, h *harness, w wall)) {
	t.Run("SQLite", func(t *testing.T) {
		h := newHarness(t)
		h.mustRun("ls") // the catalog is there
		test(t, h, h.sqliteWall())
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		h, db := inPostgres(t)
		h.mustRun("ls")
		const on = "INSERT ON scidex_oci.analysis_output"
		test(t, h, wall{
			raise: func() { db.query(t, "", "REVOKE "+on+" FROM "+db.User) },
			tear:  func() { db.query(t, "", "GRANT "+on+" TO "+db.User) },
		})
	})
}

func (h *harness) sqliteWall() wall {
	return wall{
		raise: func() {
			h.sql("CREATE TRIGGER wall BEFORE UPDATE OF finished_at ON analysis_run BEGIN SELECT RAISE(ABORT, 'a wall'); END")
		},
		tear: func() { h.sql("DROP TRIGGER wall") },
	}
}

// sql changes the catalog directly.
func (h *harness) sql(statement string) {
	h.t.Helper()
	out := h.finish(h.command("/usr/bin/python3", "-c", `
import sqlite3, sys
catalog = sqlite3.connect(sys.argv[1], timeout=60)
catalog.execute(sys.argv[2])
catalog.commit()
`, filepath.Join(h.root, "catalog.db"), statement))
	if out.code != 0 {
		h.t.Fatal(out.stderr)
	}
}

func (h *harness) outcome(id string) string { return filepath.Join(h.root, "outcomes", id+"@1") }

// odd are outputs of many kinds.
const odd = `import os
open("plain", "w").write("plain\n")
open(b"a\n\xff", "w").write("odd\n")
os.symlink("/etc/passwd", "link")
os.makedirs("deep/er")
for i in range(500):
    open("deep/er/%d" % i, "w").write(str(i))
os.chmod("plain", 0o640)
os.write(1, b"said\n")  # print writes the end of the line by itself, which may come behind a line of the other stream
`

// walledOut runs an analysis whose outcome cannot be committed.
func (h *harness) walledOut(w wall, args ...string) (id string) {
	h.t.Helper()
	h.write("odd.py", odd, 0o644)
	w.raise()
	id = h.newID()
	r := h.start(append(append(flags("--id", id), args...), "--script", "odd.py")...)
	r.expect(h.t, "error", "commit", 125)
	if !strings.Contains(r.Message, h.outcome(id)) || !strings.Contains(r.Message, "gc") {
		h.t.Errorf("the message does not say where the result is: %s", r.Message)
	}
	return id
}

// expectOdd checks that a run has all outputs of odd, once, with their contents.
func (h *harness) expectOdd(id string) {
	h.t.Helper()
	r := h.show(id)
	if r.OutputsTotal != 502 || r.RejectedTotal != 1 || r.output("plain").Mode != "0640" {
		h.t.Errorf("%d outputs, %d rejected, plain is %+v", r.OutputsTotal, r.RejectedTotal, r.output("plain"))
	}
	for path, want := range map[string]string{"plain": "plain\n", `a\n\xff`: "odd\n", "deep/er/499": "499"} {
		if got := h.mustRun("outputs", "cat", id, path).stdout; got != want {
			h.t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
	if got := h.mustRun("logs", id).stdout; got != "said\n" {
		h.t.Errorf("the log is %q", got)
	}
	h.mustRun("catalog", "check", "--digests")
	if left := append(leftovers(id, h.root), matches(filepath.Join(h.root, "outcomes", "*"))...); len(left) > 0 {
		h.t.Errorf("left behind: %v", left)
	}
}

// ageBlobs makes all blobs so old that gc removes those that nothing names.
func (h *harness) ageBlobs() (count int) {
	h.t.Helper()
	blobs := matches(filepath.Join(h.root, "blobs", "sha256", "*"))
	for _, blob := range blobs {
		if err := os.Chtimes(blob, time.Now(), time.Now().Add(-48*time.Hour)); err != nil {
			h.t.Fatal(err)
		}
	}
	return len(blobs)
}

func (h *harness) expectBlobs(count int) {
	h.t.Helper()
	if n := len(matches(filepath.Join(h.root, "blobs", "sha256", "*"))); n != count {
		h.t.Errorf("%d blobs, want %d", n, count)
	}
}

// A waiting outcome is not committed if a blob that it names is gone, for instance by a gc of another host with the
// same blob store.
func TestOutcomeWithoutItsBlob(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	w := h.sqliteWall()
	id := h.walledOut(w)
	w.tear()
	blob := filepath.Join(h.root, "blobs", "sha256", digest([]byte("plain\n")))
	if err := os.Rename(blob, h.path("blob")); err != nil {
		t.Fatal(err)
	}
	if out := h.do("gc"); out.code == 0 || !strings.Contains(out.stderr, filepath.Base(blob)) {
		t.Errorf("gc: %d %s", out.code, out.stderr)
	}
	if r := h.show(id); r.State == "complete" {
		t.Error("the run is complete without an output")
	}
	if err := os.Rename(h.path("blob"), blob); err != nil {
		t.Fatal(err)
	}
	h.mustRun("gc")
	h.expectOdd(id)
}

// An outcome that could not be committed waits, is shown, keeps its blobs, and is committed by the next command.
func TestOutcomeWaits(t *testing.T) {
	walls(t, func(t *testing.T, h *harness, w wall) {
		h.hook(`test "$(cat "$SCIDEX_OUTPUT_DIR/plain")" = plain`)
		id := h.walledOut(w, "--post-process", "./hook.sh")
		if len(matches("/tmp/scidex-analysis-"+id)) != 1 {
			t.Error("the working directory is gone before the commit")
		}
		out := h.mustRun("show", "--json", id)
		r, err := parseResult([]byte(out.stdout))
		if err != nil {
			t.Fatal(err)
		}
		r.expect(t, "error", "commit", 125)
		if r.OutputsTotal != 502 || len(r.Outputs) != 502 || len(r.Rejected) != 1 || r.Usage.WallMS == 0 {
			t.Errorf("%d outputs of %d, %d rejected, usage %+v", len(r.Outputs), r.OutputsTotal, len(r.Rejected), r.Usage)
		}
		if !strings.Contains(out.stderr, "waits to be committed") || !strings.Contains(r.Message, h.outcome(id)) {
			t.Errorf("show says %q and %q", out.stderr, r.Message)
		}
		for state, want := range map[string]string{"error": id + "\n", "running": ""} {
			if got := h.mustRun("ls", "--quiet", "--state", state).stdout; got != want {
				t.Errorf("ls --state %s: %q", state, got)
			}
		}
		if out := h.do("run", "--id", id, "--", "true"); out.code != 125 || !strings.Contains(out.stderr, "waits in") {
			t.Errorf("the id again: %d, %s", out.code, out.stderr)
		}
		blobs := h.ageBlobs()
		if out := h.do("gc"); out.code != 125 || !strings.Contains(out.stderr, h.outcome(id)) {
			t.Errorf("gc: %d, %s%s", out.code, out.stdout, out.stderr)
		}
		h.expectBlobs(blobs)
		h.mustRun("gc", "--dry-run")
		w.tear()
		if out := h.mustRun("gc", "--dry-run"); !strings.Contains(out.stdout, "would commit     "+id+"@1") {
			t.Errorf("gc --dry-run: %s", out.stdout)
		}
		h.show(id).expect(t, "error", "post_process", 125)
		h.expectOdd(id)
		h.mustRun("post-process", id, "--post-process", "./hook.sh")
		h.show(id).expect(t, "complete", "exit", 0)
	})
}

// A command that is killed in its commit leaves the outcome to the next ones, one of which commits it.
func TestOutcomeKilled(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	w := h.sqliteWall()
	id := h.walledOut(w)
	w.tear()
	release := h.lockCatalog()
	waiting := h.command(theHost.bin, "gc")
	if err := waiting.Start(); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "gc holds the run", func() bool { return h.held(id) })
	if err := waiting.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = waiting.Wait() // it was killed
	release()
	if h.outcome(id) == "" || len(matches(h.outcome(id))) != 1 {
		t.Fatal("the outcome does not wait any more")
	}
	committed := make(chan int)
	for range 3 {
		go func() {
			out, _ := h.command(theHost.bin, "gc").Output()
			committed <- strings.Count(string(out), "committed "+id+"@1")
		}()
	}
	if n := <-committed + <-committed + <-committed; n != 1 {
		t.Errorf("%d commits of three gc at once", n)
	}
	h.mustRun("gc")
	h.show(id).expect(t, "complete", "exit", 0)
	h.expectOdd(id)
}

// held reports whether a process has the lock of a run.
func (h *harness) held(id string) bool {
	f, err := os.Open(filepath.Join(h.root, "runs", id+"@1.json"))
	if err != nil {
		return false
	}
	defer f.Close()
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) == unix.EWOULDBLOCK
}

// A damaged outcome is reported, and neither it nor any blob nor its run changes.
func TestOutcomeDamaged(t *testing.T) {
	for name, damage := range map[string]func(t *testing.T, f *os.File, size int64){
		"a byte": func(t *testing.T, f *os.File, size int64) {
			if _, err := f.WriteAt([]byte{'x'}, size/2); err != nil {
				t.Fatal(err)
			}
		},
		"cut short": func(t *testing.T, f *os.File, size int64) {
			if err := f.Truncate(size - 1000); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			h.mustRun("ls")
			w := h.sqliteWall()
			id := h.walledOut(w)
			w.tear()
			whole := readFile(t, h.outcome(id))
			f, err := os.OpenFile(h.outcome(id), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			damage(t, f, int64(len(whole)))
			f.Close()
			blobs := h.ageBlobs()
			out := h.do("gc")
			if out.code != 125 || strings.Count(out.stderr, h.outcome(id)) != 2 || !strings.Contains(out.stderr, "no blob is removed") {
				t.Errorf("gc: %d, %s", out.code, out.stderr)
			}
			h.expectBlobs(blobs)
			r := h.show(id)
			r.expect(t, "error", "commit", 125)
			if !strings.Contains(r.Message, "damaged") {
				t.Errorf("show says %q", r.Message)
			}
			if len(matches("/tmp/scidex-analysis-"+id)) != 1 {
				t.Fatal("its directory is gone")
			}
			if err := os.WriteFile(h.outcome(id), []byte(whole), 0o600); err != nil {
				t.Fatal(err)
			}
			h.show(id).expect(t, "complete", "exit", 0)
			h.expectOdd(id)
		})
	}
}

// If the run has ended otherwise since, its outcome is kept separately, with its blobs.
func TestOutcomeRefused(t *testing.T) {
	h := newHarness(t)
	h.mustRun("ls")
	w := h.sqliteWall()
	id := h.walledOut(w)
	w.tear()
	h.sql("UPDATE analysis_run SET state = 'lost', reason = 'supervisor_lost', message = 'said otherwise', exit_code = 125, finished_at = '2036-01-01T00:00:00.000Z'")
	blobs := h.ageBlobs()
	if out := h.mustRun("ls"); !strings.Contains(out.stderr, h.outcome(id)+".refused") {
		t.Errorf("ls says %q", out.stderr)
	}
	if c := h.gc(); !slices.Contains(c.Kept, h.outcome(id)+".refused") {
		t.Errorf("gc keeps %q", c.Kept)
	}
	h.expectBlobs(blobs)
	h.show(id).expect(t, "lost", "supervisor_lost", 125)
	if err := os.Remove(h.outcome(id) + ".refused"); err != nil {
		t.Fatal(err)
	}
	h.ageBlobs()
	h.gc()
	h.expectBlobs(0)
	h.mustRun("rm", id)
	if err := os.RemoveAll("/tmp/scidex-analysis-" + id); err != nil {
		t.Error(err)
	}
}

// impatiently ends a launcher's wait for a catalog by two signals.
func (l *launch) impatiently() {
	l.h.t.Helper()
	until(l.h.t, hangTimeout, "the analysis has ended", func() bool { return l.h.analysisEnded(l.id) })
	l.signal(syscall.SIGTERM)
	for late := time.After(hangTimeout); ; {
		select {
		case line, ok := <-l.lines:
			if !ok {
				l.h.t.Fatal("the run ended at the first signal: ", l.stdout.String())
			}
			if strings.Contains(line, "a second signal") {
				l.signal(syscall.SIGTERM)
				return
			}
		case <-late:
			l.h.t.Fatal("nobody says what a second signal does")
		}
	}
}

// A full file system may have room again: the commit is tried until the user ends it.
func TestOutcomeOfAFullCatalog(t *testing.T) {
	if !theHost.root {
		t.Skip("only root makes the small file system that this is about")
	}
	h := newHarness(t)
	small := t.TempDir()
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=2m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	h.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(small, "catalog.db"))
	h.write("odd.py", odd, 0o644)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--input", h.path("odd.py"), "--", "sh", "-c", "python3 /inputs/odd.py; echo ready >&2; "+awaited)
	l.await("ready")
	filler, err := os.Create(filepath.Join(small, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(filler, zeros{}); err == nil {
		t.Fatal("the file system is not full")
	}
	filler.Close()
	end.raise()
	l.impatiently()
	r := l.wait()
	r.expect(t, "error", "commit", 125)
	if !strings.Contains(r.Message, "given up at SIGTERM") || !strings.Contains(r.Message, "full") {
		t.Errorf("the message is %q", r.Message)
	}
	if err := os.Remove(filler.Name()); err != nil {
		t.Fatal(err)
	}
	h.show(id).expect(t, "complete", "exit", 0)
	h.expectOdd(id)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A server that cannot be reached when the run ends, and is back later.
func TestOutcomeOfALostServer(t *testing.T) {
	h, db := inPostgres(t)
	way := newWay(t, db)
	h.setenv("SCIDEX_OCI_DB", strings.Replace(db.url(), ":"+db.port(), fmt.Sprintf(":%d", way.port), 1))
	h.write("odd.py", odd, 0o644)
	id, end := h.newID(), h.flag()
	l := h.launch(id, "--input", end.input(), "--input", h.path("odd.py"), "--", "sh", "-c", "python3 /inputs/odd.py; echo ready >&2; "+awaited)
	l.await("ready")
	until(t, hangTimeout, "no connection is held", func() bool { return db.clients(t) == "0" })
	way.close()
	end.raise()
	l.impatiently()
	r := l.wait()
	r.expect(t, "error", "commit", 125)
	if strings.Contains(r.Message, dbPassword) || !strings.Contains(r.Message, h.outcome(id)) {
		t.Errorf("the message is %q", r.Message)
	}
	if strings.Contains(readFile(t, h.outcome(id)), dbPassword) {
		t.Error("the outcome shows the password")
	}
	way.open()
	h.show(id).expect(t, "complete", "exit", 0)
	h.expectOdd(id)
}

// way is a relay to a database on a port of its own, and can be closed.
type way struct {
	t    *testing.T
	db   database
	port int
	l    net.Listener
}

func newWay(t *testing.T, db database) *way {
	w := &way{t: t, db: db}
	w.open()
	t.Cleanup(func() { w.l.Close() })
	return w
}

func (w *way) open() {
	w.t.Helper()
	var err error
	if w.l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", w.port)); err != nil {
		w.t.Fatal(err)
	}
	w.port = w.l.Addr().(*net.TCPAddr).Port
	go func(l net.Listener) {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go w.db.pass(client)
		}
	}(w.l)
}

func (w *way) close() {
	w.t.Helper()
	if err := w.l.Close(); err != nil {
		w.t.Fatal(err)
	}
}
