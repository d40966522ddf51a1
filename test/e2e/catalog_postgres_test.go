package e2e

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/examples/check"
)

const dbPassword = "geheim-2c7e51a90b" // of a database that does not require it

// url names the database with the password in it.
func (db database) url() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(db.User, dbPassword), Host: "127.0.0.1:" + db.port(), Path: db.Database}
	return u.String()
}

// inPostgres is a harness whose catalog is in a PostgreSQL database of this test.
func inPostgres(t *testing.T) (*harness, database) {
	t.Helper()
	h, db := newHarness(t), theDatabase(t)
	drop := func() { db.query(t, "", "DROP SCHEMA IF EXISTS scidex_oci CASCADE") }
	drop() // what a test that was killed has left
	t.Cleanup(drop)
	h.setenv("SCIDEX_OCI_DB", db.url())
	return h, db
}

// Every use of a catalog works with PostgreSQL, and none shows the password.
func TestPostgresCatalog(t *testing.T) {
	h, db := inPostgres(t)
	examples, err := filepath.Abs("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	id := h.id("example")
	r := h.start("--id", id, "-f", filepath.Join(examples, "brain-networks", "manifest.yaml"), "--export", "out")
	r.expect(t, "complete", "exit", 0)
	if err := check.BrainNetworks(filepath.Join(examples, "data"), h.path("out")); err != nil {
		t.Error(err)
	}
	if got := db.query(t, "", "SELECT state || ' ' || outputs_total || ' ' || (labels ->> 'example') FROM scidex_oci.runs_v1"); got != fmt.Sprintf("complete %d brain-networks", r.OutputsTotal) {
		t.Errorf("the view has %q", got)
	}
	for _, o := range r.Outputs {
		row := fmt.Sprintf("SELECT sha256 || ' ' || size FROM scidex_oci.outputs_v1 WHERE path = '%s'", o.Path)
		if got := db.query(t, "", row); got != o.SHA256+" "+strconv.FormatInt(o.Size, 10) {
			t.Errorf("the view has %q for %s", got, o.Path)
		}
	}
	for _, args := range [][]string{
		{"ls"},
		{"ls", "--json"},
		{"show", id},
		{"show", "--json", id},
		{"logs", id},
		{"outputs", "ls", "--json", id},
		{"outputs", "export", id, "again"},
		{"gc"},
		{"catalog", "migrate"},
		{"catalog", "check", "--digests"},
		{"--log-level=debug", "ls"},
	} {
		if out := h.mustRun(args...); strings.Contains(out.stdout+out.stderr, dbPassword) {
			t.Errorf("scidex-oci %q shows the password", args)
		}
	}
	for _, dir := range []string{h.root, h.dir} {
		if files := holding(t, dir, dbPassword); len(files) > 0 {
			t.Errorf("the password is written in %q", files)
		}
	}
	h.mustRefuse([]string{"--db", strings.Replace(db.url(), db.port(), "1", 1), "ls"}, "127.0.0.1:1", "connection refused", "check that it runs")
	h.mustRun("rm", id)
	h.mustRefuse([]string{"show", id}, "no run")
	if n := db.query(t, "", "SELECT count(*) FROM scidex_oci.analysis_output"); n != "0" {
		t.Errorf("%s rows of outputs are left", n)
	}
}

// The analysis finds the password nowhere, nor does the supervisor have it; and no connection is held while it runs.
func TestPostgresPassword(t *testing.T) {
	h, db := inPostgres(t)
	h.write("look.py", `
import glob, os
with open("seen", "wb") as seen:
    for name in glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/cmdline") + ["/proc/mounts"]:
        try:
            seen.write(open(name, "rb").read())
        except OSError:
            pass
    for directory, _, files in os.walk("/"):
        if directory.startswith(("/usr", "/proc", "/sys")):
            continue
        for file in files:
            path = os.path.join(directory, file)
            if os.path.isfile(path) and os.path.getsize(path) < 1 << 20 and path != "/work/seen":
                try:
                    seen.write(open(path, "rb").read())
                except OSError:
                    pass
`, 0o644)
	id := h.id("look")
	h.start("--id", id, "--script", "look.py").expect(t, "complete", "exit", 0)
	if seen := h.mustRun("outputs", "cat", id, "seen").stdout; strings.Contains(seen, dbPassword) || !strings.Contains(seen, id) || !strings.Contains(seen, "os.walk") {
		t.Errorf("the analysis has seen the password, or nothing: %d bytes", len(seen))
	}

	cmd := h.command(theHost.bin, "run", "--id", h.id("sleeps"), "--", "sleep", "1000000")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var below []int
	until(t, hangTimeout, "the analysis sleeps", func() bool {
		below = descendants(cmd.Process.Pid)
		for _, pid := range below {
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); string(line) == "sleep\x001000000\x00" {
				return true
			}
		}
		return false
	})
	for _, pid := range below {
		for _, name := range []string{"environ", "cmdline"} {
			if content, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name)); strings.Contains(string(content), dbPassword) { // this test may not read it, nor may the analysis
				t.Errorf("process %d has the password in its %s", pid, name)
			}
		}
	}
	if own, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", cmd.Process.Pid)); err != nil || !strings.Contains(string(own), dbPassword) {
		t.Errorf("the search does not find it where it is: %v", err)
	}
	until(t, hangTimeout, "no connection is held", func() bool { return db.clients(t) == "0" })
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its code is looked at in the catalog
	h.show(h.id("sleeps")).expect(t, "canceled", "stopped", 143)
}

// descendants are the processes below one.
func descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread that has ended has none
		for _, word := range strings.Fields(string(text)) {
			child, err := strconv.Atoi(word)
			if err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// A catalog is copied from SQLite into PostgreSQL and back, with the blob store; the catalog without the store then
// writes nothing.
func TestPostgresCatalogCopy(t *testing.T) {
	h, db := inPostgres(t)
	sqlite := "sqlite://" + filepath.Join(h.root, "catalog.db")
	h.write("odd.py", "open(b'a\\n\\xff', 'w').write('odd')\nopen('plain', 'w').write('plain')\nprint('said')\n", 0o644)
	id := h.id("a")
	before := h.start("--db", sqlite, "--id", id, "--label", "project=brain", "--script", "odd.py")
	before.expect(t, "complete", "exit", 0)
	listed := h.mustRun("--db", sqlite, "outputs", "ls", "--json", id).stdout
	shown := h.mustRun("--db", sqlite, "show", "--json", id).stdout

	same := func(place string, flags ...string) {
		t.Helper()
		for _, one := range []struct {
			args []string
			want string
		}{
			{[]string{"show", "--json", id}, shown},
			{[]string{"outputs", "ls", "--json", id}, listed},
			{[]string{"outputs", "cat", id, `a\n\xff`}, "odd"},
			{[]string{"logs", id}, "said\n"},
		} {
			if got := h.mustRun(append(flags, one.args...)...).stdout; got != one.want {
				t.Errorf("%s: scidex-oci %q says\n%s\nwant\n%s", place, one.args, got, one.want)
			}
		}
		h.mustRun(append(flags, "catalog", "check", "--digests")...)
	}
	for range 2 { // the second finds all there
		h.mustRun("catalog", "copy", "--from", sqlite, "--to", db.url())
		same("PostgreSQL")
	}
	h.mustRefuse([]string{"--db", sqlite, "gc"}, "blob store belongs to")
	h.start("--id", h.id("b"), "--", "true").expect(t, "complete", "exit", 0)
	h.mustRun("catalog", "copy", "--from", db.url(), "--to", sqlite)
	same("SQLite", "--db", sqlite)
	h.mustRefuse([]string{"gc"}, "blob store belongs to")

	// Into a store of its own, both stay in use.
	other := []string{"--db", "sqlite://" + h.path("other.db"), "--blobs", "file://" + h.path("other")}
	h.mustRun("--db", sqlite, "catalog", "copy", "--from", sqlite, "--to", other[1], "--to-blobs", other[3])
	same("the other store", other...)
	h.mustRun(append(other, "gc")...)
	h.mustRun("--db", sqlite, "gc")

	// A missing blob is reported.
	for _, o := range before.Outputs {
		if o.Path == "plain" {
			if err := os.Remove(h.blobPath(o.SHA256)); err != nil {
				t.Fatal(err)
			}
		}
	}
	out := h.do("--db", sqlite, "catalog", "check")
	if out.code != 125 || !strings.Contains(out.stderr, "output plain") || !strings.Contains(out.stderr, "1 problem found") {
		t.Errorf("check after a blob was removed: %d, %s", out.code, out.stderr)
	}
}
