package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOutputsAreStored reads catalog and blob store directly.
func TestOutputsAreStored(t *testing.T) {
	h := newHarness(t)
	r := h.start("--id", h.newID(), "--", "python3", "-c", `
import os
open("summary.csv", "w").write("a,b\n1,2\n")
os.makedirs("deep/er")
open("deep/er/data.bin", "wb").write(bytes(range(256)) * 20000)
open("empty", "w").close()
open("grün.txt", "w").write("again\n")
open("again.txt", "w").write("again\n")
os.chmod("again.txt", 0o755)
`)
	r.expect(t, "complete", "exit", 0)
	want := map[string]string{
		"summary.csv": "a,b\n1,2\n", "deep/er/data.bin": strings.Repeat(everyByte(), 20000), "empty": "",
		"grün.txt": "again\n", "again.txt": "again\n",
	}
	rows := h.outputRows(r.ID)
	if len(r.Outputs) != len(want) || len(rows) != len(want) {
		t.Errorf("%d outputs in the result, %d in the catalog, want %d", len(r.Outputs), len(rows), len(want))
	}
	for path, content := range want {
		sum := sha256.Sum256([]byte(content))
		digest := hex.EncodeToString(sum[:])
		mode := 0o640
		if path == "again.txt" {
			mode = 0o755
		}
		if got := r.output(path); got.SHA256 != digest || got.Size != int64(len(content)) || got.Mode != fmt.Sprintf("%04o", mode) || got.Partial {
			t.Errorf("the result has %+v, want digest %s and mode %o", got, digest, mode)
		}
		if got, want := rows[path], (row{int64(len(content)), digest, mode, "output", 0}); got != want {
			t.Errorf("the catalog has %+v for %s, want %+v", got, path, want)
		}
		h.checkBlob(digest, content)
	}
	if got := h.runRow(r.ID); got != "complete exit 0 5 0" {
		t.Errorf("the catalog's run is %q", got)
	}
}

func everyByte() string {
	var all strings.Builder
	for i := range 256 {
		all.WriteByte(byte(i))
	}
	return all.String()
}

// checkBlob checks content, mode and owner of a blob.
func (h *harness) checkBlob(digest, content string) {
	h.t.Helper()
	info, err := os.Lstat(h.blobPath(digest))
	if err != nil {
		h.t.Fatal(err)
	}
	st := info.Sys().(*syscall.Stat_t)
	if info.Mode() != 0o444 || int(st.Uid) != os.Geteuid() || int(st.Gid) != os.Getegid() || st.Nlink != 1 {
		h.t.Errorf("blob %s: mode %v, owner %d:%d, %d names; want 0444, the caller, 1", digest, info.Mode(), st.Uid, st.Gid, st.Nlink)
	}
	if h.blob(digest) != content {
		h.t.Errorf("blob %s has another content", digest)
	}
}

// row is an entry of analysis_output.
type row struct {
	size    int64
	digest  string
	mode    int
	verdict string
	partial int
}

// query reads the catalog with Python's SQLite, independent of scidex-oci's.
func (h *harness) query(sql string, args ...string) [][]any {
	h.t.Helper()
	out := h.finish(h.command("/usr/bin/python3", append([]string{"-c", `
import json, sqlite3, sys
catalog = sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True)
rows = catalog.execute(sys.argv[2], sys.argv[3:]).fetchall()
print(json.dumps([[v.decode("utf-8", "backslashreplace") if isinstance(v, bytes) else v for v in row] for row in rows]))
`, filepath.Join(h.root, "catalog.db"), sql}, args...)...))
	var rows [][]any
	if err := json.Unmarshal([]byte(out.stdout), &rows); err != nil {
		h.t.Fatal(err, out.stderr)
	}
	return rows
}

func (h *harness) outputRows(id string) map[string]row {
	h.t.Helper()
	rows := map[string]row{}
	for _, r := range h.query("SELECT path, size, sha256, mode, verdict, partial FROM analysis_output WHERE id = ?", id) {
		rows[r[0].(string)] = row{int64(r[1].(float64)), r[2].(string), int(r[3].(float64)), r[4].(string), int(r[5].(float64))}
	}
	return rows
}

func (h *harness) runRow(id string) string {
	h.t.Helper()
	rows := h.query("SELECT state || ' ' || reason || ' ' || exit_code || ' ' || outputs_total || ' ' || rejected_total FROM analysis_run WHERE id = ?", id)
	if len(rows) != 1 {
		h.t.Fatalf("%d rows of %s", len(rows), id)
	}
	return rows[0][0].(string)
}

// TestNothingIsLeft finds everything of a run while it runs, and nothing of it afterwards.
func TestNothingIsLeft(t *testing.T) {
	h := newHarness(t)
	mounts := mountTable(t)
	id, end := h.newID(), h.flag()
	marker := id + "-marker"
	l := h.launch(id, "--input", end.input(), "--", "sh", "-c", "(sleep 1000 & sleep 1000) & echo ready; "+awaited, marker)
	l.await("ready")
	// Launcher, init and shell have the marker; the supervisor and two sleepers have not.
	until(t, hangTimeout, "all processes are found", func() bool { return len(with(marker)) >= 3 && len(l.family()) >= 6 })
	all := l.family()
	if len(matches("/tmp/scidex-analysis-"+id)) != 1 || len(locksOf(l.cmd.Process.Pid)) == 0 {
		t.Errorf("no directory or lock of a live run found: the looking does not work")
	}
	if theHost.cgroup && len(groupsOf(id)) == 0 {
		t.Error("no control group of a live run found: the looking does not work")
	}
	if during := mountTable(t); !maps.Equal(mounts, during) {
		t.Errorf("the run mounted something on the host: %v", during)
	}
	end.raise()
	l.wait().expect(t, "complete", "exit", 0)
	for _, w := range all {
		if w.alive() {
			t.Errorf("process %d (%s) outlived the launcher", w.pid, w.command)
		}
	}
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if locks := locksOf(l.cmd.Process.Pid); len(locks) > 0 {
		t.Errorf("locks of the launcher: %v", locks)
	}
	if after := mountTable(t); !maps.Equal(mounts, after) {
		t.Errorf("mounts before %v, after %v", mounts, after)
	}
}

// locksOf lists the file locks that a process took (proc_locks(5)), even if another process holds them now.
func locksOf(pid int) []string {
	raw, err := os.ReadFile("/proc/locks")
	if err != nil {
		return []string{err.Error()}
	}
	var found []string
	for line := range strings.Lines(string(raw)) {
		if fields := strings.Fields(line); len(fields) > 4 && fields[4] == fmt.Sprint(pid) {
			found = append(found, line)
		}
	}
	return found
}

// mountTable is the host's mounts by id.
func mountTable(t *testing.T) map[string]string {
	t.Helper()
	table := map[string]string{}
	for line := range strings.Lines(readFile(t, "/proc/self/mountinfo")) {
		id, rest, _ := strings.Cut(line, " ")
		if !ofAnotherTest(t, rest) {
			table[id] = rest
		}
	}
	return table
}

// ofAnotherTest reports whether a mount is in the directory of a concurrent test, or a network namespace, which runs do
// not name: those of the unit tests mount file systems. A test's directory has its name (testing.T.TempDir).
func ofAnotherTest(t *testing.T, mount string) bool {
	return strings.Contains(mount, " /run/netns") || strings.Contains(mount, "/Test") && !strings.Contains(mount, "/"+t.Name())
}
