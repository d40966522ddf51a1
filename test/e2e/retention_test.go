package e2e

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// made makes a run whose outputs are "own", of its own, and "shared", the same in all runs. Its blobs are old enough
// for gc.
func (h *harness) made(flags ...string) result {
	h.t.Helper()
	id := h.newID()
	r := h.start(append(append([]string{"--id", id}, flags...), "--", "sh", "-c", "mkdir d; echo "+id+" | tee d/own; echo same >shared")...)
	r.expect(h.t, "complete", "exit", 0)
	h.age()
	return r
}

// age makes all blobs old enough for gc.
func (h *harness) age() {
	h.t.Helper()
	then := time.Now().Add(-2 * time.Hour)
	for _, blob := range matches(h.blobPath("*")) {
		if err := os.Chtimes(blob, then, then); err != nil {
			h.t.Fatal(err)
		}
	}
}

// ids are those of the runs that the catalog has, the newest first.
func (h *harness) ids(flags ...string) []string {
	h.t.Helper()
	return strings.Fields(h.mustRun(append([]string{"ls", "--quiet", "--limit", "0"}, flags...)...).stdout)
}

func (c collected) expired() (ids []string) {
	for _, run := range c.Expired {
		ids = append(ids, run.ID)
	}
	return ids
}

// whole checks that every row has its blob, unharmed.
func (h *harness) whole() {
	h.t.Helper()
	h.mustRun("catalog", "check", "--digests")
}

// gone checks whether the blobs of outputs are there.
func (h *harness) wantBlob(digest string, there bool) {
	h.t.Helper()
	if _, err := os.Lstat(h.blobPath(digest)); (err == nil) != there {
		h.t.Errorf("blob %s is there: %v, want %v", digest, err == nil, there)
	}
}

// TestPin: a pinned run is removed by nobody.
func TestPin(t *testing.T) {
	h := newHarness(t)
	id, other := h.made("--keep", "always").ID, h.made().ID
	h.mustRun("pin", id, id)
	h.mustRefuse([]string{"pin", other, "nothing"}, `no run "nothing"`)
	for name, want := range map[string]bool{id: true, other: false} {
		if got := h.show(name).Pinned; got != want {
			t.Errorf("%s is pinned: %v, want %v", name, got, want)
		}
		if listed := h.mustRun("ls", "--json").stdout; strings.Count(listed, `"pinned":true`) != 1 {
			t.Errorf("ls --json says\n%s", listed)
		}
		if shown := h.mustRun("show", name).stdout; strings.Contains(shown, "\npinned ") != want {
			t.Errorf("show says\n%s", shown)
		}
	}
	h.mustRefuse([]string{"rm", other, id}, "is pinned", "scidex-oci unpin "+id)
	c := h.gc("--older-than", "0s")
	if got := c.expired(); !slices.Equal(got, []string{other}) || !slices.Equal(h.ids(), []string{id}) {
		t.Errorf("gc took %q and left %q", got, h.ids())
	}
	if kept := h.show(id).Kept; len(matches(kept)) != 1 {
		t.Errorf("its kept directory %q is gone", kept)
	}
	h.mustRun("unpin", id)
	h.mustRun("rm", id)
	if left := matches("/tmp/scidex-analysis-" + id + "*"); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestRetention: gc removes what the flags say, next to a living run, and nothing without them.
func TestRetention(t *testing.T) {
	h := newHarness(t)
	var runs []result
	for range 4 {
		runs = append(runs, h.made())
	}
	h.mustRun("pin", runs[1].ID)
	end := h.flag()
	live := h.newID()
	l := h.launch(live, "--input", end.input(), "--", "sh", "-c", "echo ready; "+awaited+"; echo after >b")
	l.await("ready")

	all := h.ids()
	if c := h.gc(); len(c.Expired) > 0 || c.Blobs > 0 || !slices.Equal(h.ids(), all) {
		t.Errorf("gc without a policy: %+v", c)
	}
	if c := h.gc("--older-than", "1h"); len(c.Expired) > 0 {
		t.Errorf("gc took runs that ended later: %+v", c)
	}
	if c := h.gc("--older-than", "0s", "--keep-last", "5"); len(c.Expired) > 0 {
		t.Errorf("gc took one of the newest: %+v", c)
	}

	// The newest two are the live run and runs[3].
	before := h.everything(live)
	dry := h.gc("--keep-last", "2", "--dry-run")
	if after := h.everything(live); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	c := h.gc("--keep-last", "2", "--older-than", "0s")
	if want := []string{runs[2].ID, runs[0].ID}; !slices.Equal(c.expired(), want) || !slices.Equal(dry.expired(), want) {
		t.Errorf("gc took %q, dry %q, want %q", c.expired(), dry.expired(), want)
	}
	for _, run := range c.Expired {
		if want := runs[0].output("d/own").Size + runs[0].output("shared").Size; run.Bytes != want || run.Outputs != 2 {
			t.Errorf("gc took %+v, want %d bytes", run, want)
		}
	}
	if c.Blobs != 2 || c.Blobs != dry.Blobs || c.BlobBytes != dry.BlobBytes { // what the log has said is what "own" holds
		t.Errorf("%d blobs with %d bytes, dry %d with %d; want 2", c.Blobs, c.BlobBytes, dry.Blobs, dry.BlobBytes)
	}
	for i, r := range runs {
		h.wantBlob(r.output("d/own").SHA256, i == 1 || i == 3)
		h.wantBlob(r.output("shared").SHA256, true)
	}
	h.whole()
	end.raise()
	l.wait().expect(t, "complete", "exit", 0)
	if want := []string{live, runs[3].ID, runs[1].ID}; !slices.Equal(h.ids(), want) {
		t.Errorf("left are %q, want %q", h.ids(), want)
	}
}

// TestOutputsOnly: rows, digests and logs stay; a request for the contents says what became of them.
func TestOutputsOnly(t *testing.T) {
	h := newHarness(t)
	id := h.newID()
	r := h.start("--id", id, "--", "sh", "-c", "echo said; echo written >f")
	h.age()
	listed := h.mustRun("outputs", "ls", "--json", id).stdout
	shown := h.mustRun("gc", "--older-than", "0s", "--outputs-only", "--dry-run").stdout
	for _, want := range []string{"would remove", "outputs of run " + id + "@1", "8B", "1 blob"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %q", want, shown)
		}
	}
	h.wantBlob(r.output("f").SHA256, true)
	if c := h.gc("--older-than", "0s", "--outputs-only"); len(c.Expired) != 1 || !c.OutputsOnly || c.Blobs != 1 || c.BlobBytes != 8 {
		t.Errorf("gc: %+v", c)
	}
	h.wantBlob(r.output("f").SHA256, false)
	if got := h.mustRun("outputs", "ls", "--json", id).stdout; got != listed {
		t.Errorf("outputs ls says %q, want %q", got, listed)
	}
	if got := h.mustRun("logs", id).stdout; got != "said\n" {
		t.Errorf("logs says %q", got)
	}
	at := h.show(id).OutputsRemovedAt
	if at == nil {
		t.Fatal("show does not tell when")
	}
	when := at.Format(time.RFC3339)
	h.mustRefuse([]string{"outputs", "cat", id, "f"}, id, "removed by retention", when)
	h.mustRefuse([]string{"outputs", "export", id, "out"}, id, "removed by retention", when)
	if len(matches(h.path("out"))) > 0 {
		t.Error("a refused export made its directory")
	}
	if found := h.mustRun("outputs", "find", "f").stdout; !strings.Contains(found, "(content removed)") {
		t.Errorf("find says %q", found)
	}
	h.whole()
	if c := h.gc("--older-than", "0s", "--outputs-only"); len(c.Expired) > 0 {
		t.Errorf("gc took them twice: %+v", c)
	}
	if c := h.gc("--older-than", "0s"); !slices.Equal(c.expired(), []string{id}) || len(h.ids()) > 0 {
		t.Errorf("gc: %+v", c)
	}
}

// TestRetentionFromConfig: the config file has the same settings, and the command line overrides them.
func TestRetentionFromConfig(t *testing.T) {
	h := newHarness(t)
	old, last := h.made().ID, h.made().ID
	h.setenv("SCIDEX_OCI_CONFIG", h.write("config.yaml", "gc:\n  keep_last: 1\n  older_than: 0s\n", 0o644))
	if c := h.gc("--keep-last", "all"); len(c.Expired) > 0 {
		t.Errorf("gc --keep-last all took %+v", c)
	}
	if c := h.gc("--older-than", "1d"); len(c.Expired) > 0 {
		t.Errorf("gc --older-than 1d took %+v", c)
	}
	if c := h.gc(); !slices.Equal(c.expired(), []string{old}) || !slices.Equal(h.ids(), []string{last}) {
		t.Errorf("gc took %+v", c)
	}
	for text, want := range map[string]string{
		"gc: {keep_last: 0}\n":        `keep_last "0": give a number of runs from 1 on, or all`,
		"gc: {older_than: soon}\n":    `older_than "soon": give a time`,
		"gc: {outputs_only: true}\n":  "outputs_only does not say which runs",
		"gc: 3\n":                     "gc: not a mapping",
		"gc: {keep_lats: 1}\n":        `did you mean "keep_last"?`,
		"gc: {gc: {keep_last: 1}}\n":  `unknown key "gc"`,
		"gc: {memory: 1GiB}\n":        `unknown key "memory"`,
		"keep_last: 1\n":              `unknown key "keep_last"`,
		"gc: {keep_last: [1, 2]}\n":   "give one value",
		"gc: {older_than: 1970-13}\n": "older_than",
	} {
		h.mustRefuse([]string{"--config", h.write("bad.yaml", text, 0o644), "gc"}, want)
	}
	if got := h.ids(); !slices.Equal(got, []string{last}) {
		t.Errorf("left are %q", got)
	}
}

// TestRetentionOfAnotherRoot: gc takes only what its own root wrote, and only of its own catalog.
func TestRetentionOfAnotherRoot(t *testing.T) {
	h, other := newHarness(t), newHarness(t)
	theirs := h.made().ID
	other.setenv("SCIDEX_OCI_DB", "sqlite://"+filepath.Join(h.root, "catalog.db"))
	other.setenv("SCIDEX_OCI_BLOBS", "file://"+filepath.Join(h.root, "blobs"))
	id := other.newID()
	other.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
	if c := other.gc("--older-than", "0s"); !slices.Equal(c.expired(), []string{id}) || !slices.Equal(h.ids(), []string{theirs}) {
		t.Errorf("gc took %+v and left %q", c.Expired, h.ids())
	}
	h.mustRefuse([]string{"--db", "sqlite://" + h.path("new.db"), "gc", "--older-than", "0s"}, "blob store belongs to")
	h.whole()
}

// TestOnlyCopyStays: a directory with the only copy of an uncommitted run's files is kept.
func TestOnlyCopyStays(t *testing.T) {
	h := newHarness(t)
	good, bad := h.made("--keep", "always"), h.made("--keep", "always")
	h.finish(h.command("/usr/bin/python3", "-c", `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as catalog:
    catalog.execute("UPDATE analysis_run SET state = 'lost' WHERE id = ?", (sys.argv[2],))
`, filepath.Join(h.root, "catalog.db"), bad.ID))
	c := h.gc("--older-than", "0s")
	if !slices.Equal(c.expired(), []string{good.ID}) || !slices.Contains(c.Kept, bad.Kept) || len(matches(bad.Kept)) != 1 || len(matches(good.Kept)) > 0 {
		t.Errorf("gc: %+v", c)
	}
	h.mustRun("rm", bad.ID)
}

// started starts a gc that removes all runs but the newest.
func (h *harness) started() *exec.Cmd {
	h.t.Helper()
	cmd := h.command(theHost.bin, "gc", "--keep-last", "1")
	if err := cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	return cmd
}

// TestRetentionIsKilled: a gc that is killed leaves no row without its blob, and the next one completes the removal.
func TestRetentionIsKilled(t *testing.T) {
	for _, tt := range []struct {
		name string
		stop func(h *harness) (free func())      // keeps gc from going on
		at   func(h *harness, first string) bool // it has come there
	}{
		{"before a row goes", (*harness).lockCatalog, func(h *harness, first string) bool {
			return len(matches(filepath.Join(h.root, "runs", first+"@1.json"))) == 1
		}},
		{"before blobs go", (*harness).lockBlobs, func(h *harness, _ string) bool { return len(h.ids()) == 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHarness(t)
			first, second, last := h.made("--keep", "always"), h.made(), h.made()
			free := tt.stop(h)
			cmd := h.started()
			until(t, hangTimeout, "gc comes to its point", func() bool { return tt.at(h, second.ID) })
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil {
				t.Error("gc had ended before it was killed")
			}
			free()
			h.whole()
			h.wantBlob(first.output("d/own").SHA256, true)
			h.gc("--keep-last", "1")
			h.whole()
			h.wantBlob(first.output("d/own").SHA256, false)
			h.wantBlob(second.output("d/own").SHA256, false)
			if got := h.ids(); !slices.Equal(got, []string{last.ID}) {
				t.Errorf("left are %q", got)
			}
			if left := append(matches(filepath.Join(h.root, "runs", "*")), matches(first.Kept)...); len(left) > 0 {
				t.Errorf("left %q", left)
			}
		})
	}
}

// lockBlobs holds the store's lock as a run does between publication and commit.
func (h *harness) lockBlobs() (free func()) {
	h.t.Helper()
	f, err := os.Open(filepath.Join(h.root, "blobs", "sha256"))
	if err == nil {
		err = unix.Flock(int(f.Fd()), syscall.LOCK_SH)
	}
	if err != nil {
		h.t.Fatal(err)
	}
	return func() { f.Close() }
}

// TestRetentionTogether: if several gcs run at once, each run is removed by one.
func TestRetentionTogether(t *testing.T) {
	h := newHarness(t)
	want := map[string]int{}
	for i := range 6 {
		keep := "never"
		if i%2 == 0 {
			keep = "always"
		}
		want[h.made("--keep", keep).ID] = 1
	}
	last := h.made()
	taken := map[string]int{}
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range 3 {
		cmd := h.command(theHost.bin, "gc", "--json", "--keep-last", "1")
		wg.Go(func() {
			out, err := cmd.Output()
			var c collected
			if err == nil {
				err = json.Unmarshal(out, &c)
			}
			if err != nil || len(c.Errors) > 0 {
				t.Errorf("gc: %v, %s, %s", err, c.Errors, stderrOf(err))
			}
			mu.Lock()
			defer mu.Unlock()
			for _, id := range c.expired() {
				taken[id]++
			}
		})
	}
	wg.Wait()
	if !maps.Equal(taken, want) || !slices.Equal(h.ids(), []string{last.ID}) {
		t.Errorf("taken %v, left %q", taken, h.ids())
	}
	h.whole()
	if left := append(matches(filepath.Join(h.root, "runs", "*")), matches("/tmp/scidex-analysis-"+h.run+"*")...); len(left) > 0 {
		t.Errorf("left %q", left)
	}
}

// TestOutputsFind finds outputs of all runs by path and by digest.
func TestOutputsFind(t *testing.T) {
	h := newHarness(t)
	old := h.made()
	id := h.newID()
	h.start("--id", id, "--", "python3", "-c", `
import os
os.makedirs("d/e")
for name in ("top.csv", "d/e/deep.csv", "deadbeef", b"odd\xff\x1b[31m"):
    open(name, "w").write(repr(name))
os.symlink("top.csv", "link.csv")
`).expect(t, "complete", "exit", 0)
	same := old.output("shared").SHA256
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"**/*.csv"}, []string{id + " d/e/deep.csv", id + " top.csv"}},
		{[]string{"*.csv"}, []string{id + " top.csv"}},
		{[]string{"d/"}, []string{id + " d/e/deep.csv", old.ID + " d/own"}},
		{[]string{"**", "--limit", "1"}, []string{id + " d/e/deep.csv"}},
		{[]string{"shared", "--since", "7d"}, []string{old.ID + " shared"}},
		{[]string{"shared", "--since", "2999-01-01"}, nil},
		{[]string{same}, []string{old.ID + " shared"}},
		{[]string{strings.ToUpper(same[:8])}, []string{old.ID + " shared"}},
		{[]string{"sha256:" + same}, []string{old.ID + " shared"}},
		{[]string{same[:7]}, nil}, // a glob
		{[]string{"deadbeef"}, nil},
		{[]string{"./deadbeef"}, []string{id + " deadbeef"}},
		{[]string{"odd*"}, []string{id + ` odd\xff\x1b[31m`}},
	} {
		var got []string
		for line := range strings.Lines(h.mustRun(append([]string{"outputs", "find", "--json"}, tt.args...)...).stdout) {
			var found struct {
				ID, Path string
				Attempt  int
				SHA256   string
			}
			if err := json.Unmarshal([]byte(line), &found); err != nil || found.Attempt != 1 || len(found.SHA256) != 64 {
				t.Errorf("%v in %q", err, line)
			}
			got = append(got, found.ID+" "+found.Path)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("find %q: %q, want %q", tt.args, got, tt.want)
		}
	}
	for line := range strings.Lines(h.mustRun("outputs", "find", "**").stdout) {
		if strings.ContainsFunc(line, acts) || !strings.Contains(line, "@1  ") {
			t.Errorf("find prints %q", line)
		}
	}
	h.mustRefuse([]string{"outputs", "find", "[a"}, `path "[a": not a glob`)
	h.mustRefuse([]string{"outputs", "find", "a", "--limit", "-1"}, "give a number of outputs")
}

// TestExportOfATamperedBlob: a changed blob is named and not exported.
func TestExportOfATamperedBlob(t *testing.T) {
	h := newHarness(t)
	r := h.made()
	digest := r.output("d/own").SHA256
	path := h.blobPath(digest)
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, strings.Repeat("x", int(r.output("d/own").Size)), 0o600)
	h.mustRefuse([]string{"outputs", "export", r.ID, "out"}, "d/own", digest, "corrupt")
	if left := matches(h.path("out/d/*")); len(left) > 0 {
		t.Errorf("exported %q", left)
	}
	if out := h.do("outputs", "cat", r.ID, "d/own"); out.code != 125 || !strings.Contains(out.stderr, digest) {
		t.Errorf("cat: %d, %s", out.code, out.stderr)
	}
}

// A role that may not delete rows is refused before anything is changed; pinning and finding are allowed.
func TestPostgresRetention(t *testing.T) {
	h, db := inPostgres(t)
	first, second := h.made("--keep", "always"), h.made()
	db.query(t, "", "REVOKE DELETE ON scidex_oci.analysis_run FROM CURRENT_USER") // the owner is then as scidex_run is
	h.mustRun("pin", second.ID)
	before := h.everything(first.ID)
	for _, flags := range [][]string{{"--keep-last", "1"}, {"--older-than", "0s", "--outputs-only"}} {
		h.mustRefuse(append([]string{"gc"}, flags...), db.User, "may not delete", "scidex_admin")
	}
	if after := h.everything(first.ID); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	h.mustRun("gc")
	if found := h.mustRun("outputs", "find", "**/own").stdout; strings.Count(found, "d/own\n") != 2 {
		t.Errorf("find says %q", found)
	}
	db.query(t, "", "GRANT DELETE ON scidex_oci.analysis_run TO CURRENT_USER")
	if c := h.gc("--older-than", "0s"); !slices.Equal(c.expired(), []string{first.ID}) || c.Blobs != 1 || !slices.Equal(h.ids(), []string{second.ID}) {
		t.Errorf("gc: %+v, left %q", c, h.ids())
	}
	if len(matches(first.Kept)) > 0 {
		t.Errorf("%s is left", first.Kept)
	}
	h.whole()
	h.mustRun("unpin", second.ID)
	if c := h.gc("--older-than", "0s", "--outputs-only"); len(c.Expired) != 1 {
		t.Errorf("gc: %+v", c)
	}
	h.mustRefuse([]string{"outputs", "cat", second.ID, "shared"}, "removed by retention")
	h.whole()
	if got := db.query(t, "", "SELECT count(*) FROM scidex_oci.outputs_v1"); got != "2" {
		t.Errorf("%s rows of outputs, want 2", got)
	}
}
