package e2e

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRecordsThatNameAnInnocent lets a stale record name the process id of somebody else: gc ends the run and does not
// touch that process.
func TestRecordsThatNameAnInnocent(t *testing.T) {
	h := newHarness(t)
	innocent := exec.Command("sleep", "100000")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = innocent.Wait(); close(ended) }()
	t.Cleanup(func() { _ = innocent.Process.Kill(); <-ended })
	id := h.killed()
	record := h.record(id)
	named := 0
	for name, value := range record {
		if _, number := value.(float64); number && strings.Contains(name, "pid") {
			record[name], named = innocent.Process.Pid, named+1
		}
	}
	if named == 0 { // what a record may come to have, and another program's may
		record["pid"], record["supervisor_pid"] = innocent.Process.Pid, innocent.Process.Pid
	}
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, h.recordPath(id), string(raw), 0o600)
	h.expectLost(id)
	select {
	case <-ended:
		t.Errorf("the innocent process ended: %v", innocent.ProcessState)
	default:
	}
	h.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
}

func (h *harness) recordPath(id string) string { return filepath.Join(h.root, "runs", id+"@1.json") }

// record reads the state file of a first attempt.
func (h *harness) record(id string) (record map[string]any) {
	h.t.Helper()
	if err := json.Unmarshal([]byte(readFile(h.t, h.recordPath(id))), &record); err != nil {
		h.t.Fatal(err)
	}
	return record
}

// TestDamagedRecords damages the state file of a killed run. The run is reaped in any case: the catalog has the inode
// of its directory too, so that goes, and another one in its place stays.
func TestDamagedRecords(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"missing":   os.Remove,
		"empty":     func(path string) error { return os.Truncate(path, 0) },
		"truncated": func(path string) error { return os.Truncate(path, 40) },
		"noise":     func(path string) error { return os.WriteFile(path, []byte("\x00\xff{\"dir\":7}"), 0o600) },
		"another type": func(path string) error {
			return os.WriteFile(path, []byte(`{"dir":["/tmp"],"groups":"/sys/fs/cgroup"}`), 0o600)
		},
		"too long":    func(path string) error { return os.Truncate(path, 4096) },
		"nothing set": func(path string) error { return os.WriteFile(path, []byte(`{}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			dead := h.killedAtOnce(2, endless)
			whole, exchanged := dead[0], dead[1]
			records := h.setAside(exchanged)
			for _, id := range []string{whole, exchanged} {
				if err := damage(h.recordPath(id)); err != nil {
					t.Fatal(err)
				}
			}
			c := h.gc()
			for _, id := range []string{whole, exchanged} {
				h.show(id).expect(t, "lost", "supervisor_lost", 125)
			}
			if len(c.Lost) != 2 || !slices.Contains(c.Removed, "/tmp/scidex-analysis-"+whole) || len(leftovers(whole, h.root)) > 0 {
				t.Errorf("gc did %+v; left are %v", c, leftovers(whole, h.root))
			}
			dir := "/tmp/scidex-analysis-" + exchanged
			if c := h.gc(); len(matches(dir)) != 1 || !slices.Contains(c.Foreign, dir) {
				t.Errorf("gc does not leave %s and name it: %+v", dir, c)
			}
			if err := os.Remove(dir); err != nil {
				t.Fatal(err)
			}
			h.restore(exchanged, records)
		})
	}
}

// TestDirectoryOfAnother replaces the directory of a killed run: the new one is not the recorded one.
func TestDirectoryOfAnother(t *testing.T) {
	h := newHarness(t)
	id := h.killed()
	records, dir := h.setAside(id), "/tmp/scidex-analysis-"+id
	writeFile(t, dir+"/precious", "mine", 0o644)
	before := snapshot(t, dir)
	c := h.gc()
	if len(c.Lost) != 1 || slices.Contains(slices.Concat(c.Removed, c.Kept), dir) {
		t.Errorf("gc did %+v", c)
	}
	if after := snapshot(t, dir); !maps.Equal(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	if c := h.gc(); !slices.Contains(c.Foreign, dir) {
		t.Errorf("gc does not name %s: %+v", dir, c)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	h.restore(id, records)
}

// TestMissingRow takes the row of a killed run out of the catalog: its state file is enough to remove what it left.
func TestMissingRow(t *testing.T) {
	h := newHarness(t)
	id := h.killed()
	deleted := exec.Command("/usr/bin/python3", "-c", `
import sqlite3, sys
with sqlite3.connect(sys.argv[1]) as catalog:
    print(catalog.execute("DELETE FROM analysis_run WHERE id = ?", (sys.argv[2],)).rowcount)
`, filepath.Join(h.root, "catalog.db"), id)
	if out, err := deleted.CombinedOutput(); err != nil || string(out) != "1\n" {
		t.Fatalf("%v: %s", err, out)
	}
	if c := h.gc(); len(c.Lost) > 0 || !slices.Contains(c.Removed, "/tmp/scidex-analysis-"+id) {
		t.Errorf("gc did %+v", c)
	}
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	h.start("--id", id, "--", "true").expect(t, "complete", "exit", 0)
}

// saved is a state file as it was.
type saved struct{ path, content string }

// setAside moves the directory of a killed run away and makes an empty one of its name. The caller could not remove
// what ids of a range have made; restore does, through gc.
func (h *harness) setAside(id string) []saved {
	h.t.Helper()
	dir := "/tmp/scidex-analysis-" + id
	if err := errors.Join(os.Rename(dir, aside(id)), os.Mkdir(dir, 0o700)); err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = os.RemoveAll(aside(id)) }) // if the test failed before restore
	return []saved{{h.recordPath(id), readFile(h.t, h.recordPath(id))}}
}

// aside matches no pattern of gc's.
func aside(id string) string { return "/tmp/aside-" + id }

// restore puts the directory that was set aside and the records back: now gc knows what they name, and removes it.
func (h *harness) restore(id string, records []saved) {
	h.t.Helper()
	if err := os.Rename(aside(id), "/tmp/scidex-analysis-"+id); err != nil {
		h.t.Fatal(err)
	}
	for _, record := range records {
		writeFile(h.t, record.path, record.content, 0o600)
	}
	if c := h.gc(); len(c.Removed) != len(records) {
		h.t.Errorf("with its records back gc did %+v", c)
	}
	if left := leftovers(h.run, h.root); len(left) > 0 {
		h.t.Errorf("left behind: %q", left)
	}
}
