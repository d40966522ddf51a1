package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// An orchestrator writes its own row and enqueues in one transaction, only by SQL: both are there or neither. The
// worker refuses what SQL cannot check, and the analysis ends.
func TestQueueBySQL(t *testing.T) {
	h, db := inQueue(t)
	table := "orchestrator_" + strings.ReplaceAll(h.run, "-", "_")
	db.query(t, "", fmt.Sprintf("CREATE TABLE %s (analysis text)", table))
	t.Cleanup(func() { db.query(t, "", "DROP TABLE "+table) })
	enqueue := func(request, then string) string {
		return db.query(t, "", fmt.Sprintf(`BEGIN; WITH made AS (SELECT scidex_oci.submit('%s', 1) AS id)
			INSERT INTO %s SELECT id FROM made RETURNING analysis; %s`, request, table, then))
	}
	manifest := func(name, fields string) (id, request string) {
		id = h.id(name)
		return id, fmt.Sprintf(`{"id": "%s", %s}`, id, fields)
	}
	data := h.write("data/there", "x", 0o644)

	undone, request := manifest("undone", `"command": ["true"]`)
	enqueue(request, "ROLLBACK")
	good, request := manifest("good", `"command": ["sh", "-c", "cat data/there >got"], "data": "`+h.path("data")+`", "labels": {"k": "v"}, "memory": "64MiB"`)
	if got := enqueue(request, "COMMIT"); got != good {
		t.Errorf("it was enqueued as %q, want %q", got, good)
	}
	bad := map[string]string{}
	for name, fields := range map[string]string{
		"value":    `"command": ["true"], "memory": "much"`,
		"field":    `"command": ["true"], "memroy": "1GiB"`,
		"type":     `"command": "true"`,
		"relative": `"script": "a.py"`,
		"missing":  `"script": "` + data + `.py"`,
		"nothing":  `"labels": {}`,
	} {
		bad[name], request = manifest(name, fields)
		enqueue(request, "COMMIT")
	}
	h.mustRefuse([]string{"submit", "--id", good, "--", "true"}, "waits in the queue")
	again := exec.Command(db.Psql, "-XAtq", "-h", "127.0.0.1", "-p", db.port(), "-U", db.User, "-d", db.Database, "-v", "VERBOSITY=verbose",
		"-c", fmt.Sprintf(`SELECT scidex_oci.submit('{"id": "%s"}')`, good))
	if said, err := again.CombinedOutput(); err == nil || !strings.Contains(string(said), "23505") || !strings.Contains(string(said), "is queued") {
		t.Errorf("enqueued twice: %v, %s", err, said)
	}

	if listed := h.mustRun("ls", "--state", "queued").stdout; strings.Count(listed, "\n") != 2+len(bad) {
		t.Errorf("of %d that are queued it lists\n%s", 1+len(bad), listed)
	}

	w := h.worker("--jobs", "3")
	h.comes(db, good, "complete")
	if got := w.mustRun("outputs", "cat", good, "got").stdout; got != "x" {
		t.Errorf("it has read %q", got)
	}
	for name, id := range bad {
		until(t, hangTimeout, "the job of "+name+" is to end", func() bool { return jobs(t, db, id) == "completed" })
		if got := h.attempts(db, id); got != "error error" {
			t.Errorf("%s has the attempts %q", name, got)
		}
		// What was enqueued is shown as it is, although it is no manifest.
		if said := w.mustRun("show", "--json", id).stdout; !strings.Contains(said, `"state":"error","reason":"request"`) {
			t.Errorf("%s ended with %s", name, said)
		}
	}
	w.end()
	if got := db.query(t, "", fmt.Sprintf("SELECT count(*) FROM %s JOIN scidex_oci.runs_v1 ON id = analysis WHERE latest", table)); got != "7" {
		t.Errorf("%s of the orchestrator's rows have a run, want 7", got)
	}
	if got := h.attempts(db, undone) + jobs(t, db, undone) + db.query(t, "", fmt.Sprintf("SELECT analysis FROM %s WHERE analysis = '%s'", table, undone)); got != "" {
		t.Errorf("what was rolled back is %q", got)
	}
}
