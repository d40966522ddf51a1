package sqlite

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"testing/fstest"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/test/durable"
)

// version1 is a run of every table as a program of version 1 wrote it. The events of one millisecond
// come in the order of their insertion.
const version1 = `
INSERT INTO analysis_run (id, attempt, state, reason, message, exit_code, signal, created_at, started_at, finished_at,
	request, place, report, host, boot_id, tool_version, outputs_total, rejected_total)
	VALUES ('old', 1, 'failed', 'signal', 'it died', 137, 'SIGKILL', '2026-03-04T05:06:07.000Z', '2026-03-04T05:06:08.000Z',
	'2026-03-04T05:06:09.000Z', '{"id":"old"}', '{"dir":"/tmp/x"}', '{"usage":{}}', 'host-1', 'boot-1', 'v0.0.1', 1, 1),
	('open', 1, 'running', NULL, NULL, NULL, NULL, '2026-03-04T05:06:10.000Z', NULL, NULL, NULL, NULL, NULL, 'host-1', 'boot-1', 'v0.0.1', 0, 0);
INSERT INTO run_label (id, attempt, key, value) VALUES ('old', 1, 'k', 'v');
INSERT INTO run_blob (id, attempt, sha256) VALUES ('old', 1, '` + aDigest + `');
INSERT INTO analysis_output (id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial)
	VALUES ('old', 1, x'61ff', 3, '` + aDigest + `', 'text/csv', 416, 'output', NULL, 0),
	('old', 1, x'62', NULL, NULL, NULL, NULL, 'symlink', x'2d3e', 0);
INSERT INTO sandbox_audit_event (analysis_id, attempt, ts, kind, path_or_addr, severity, allowed, blocked)
	VALUES ('old', 1, '2026-03-04T05:06:08.002Z', 'connect', x'00ff', 'high', 0, 1),
	('old', 1, '2026-03-04T05:06:08.001Z', 'socket', NULL, 'low', 1, 0),
	('old', 1, '2026-03-04T05:06:08.001Z', 'limit', x'61', 'medium', 0, 0)`

const aDigest = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// released is the schema of a program whose latest version was this.
func released(t *testing.T, version string) fs.FS {
	t.Helper()
	all, err := migrations.SQLite()
	must(t, err)
	schema := fstest.MapFS{}
	files, err := fs.Glob(all, "*.sql")
	must(t, err)
	for _, name := range files {
		if name[:5] <= version {
			text, err := fs.ReadFile(all, name)
			must(t, err)
			schema[name] = &fstest.MapFile{Data: text}
		}
	}
	return schema
}

// A catalog of version 1 keeps its rows and gets the new tables, and its backup is of version 1.
func TestUpgradeFromVersion1(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	old, err := open(t.Context(), path, released(t, "00001"), anyone)
	must(t, err)
	id, err := old.CatalogID(t.Context())
	must(t, errors.Join(err, old.Close()))
	execute(t, path, version1)

	c := opened(t, path)
	if again, err := c.CatalogID(t.Context()); err != nil || again != id {
		t.Errorf("catalog id %q, %v, want %q", again, err, id)
	}
	wantVersion1(t, c)
	wantNews(t, c)
	wantRetention(t, c)

	backup, err := open(t.Context(), path+".bak-v1", released(t, "00001"), anyone)
	must(t, err)
	if _, err := backup.Events(t.Context(), catalog.Key{ID: "old"}); err == nil {
		t.Error("the backup has the new column")
	}
	must(t, backup.Close())
	wantVersion1(t, opened(t, path+".bak-v1")) // upgraded in its turn
}

func wantVersion1(t *testing.T, c *Catalog) {
	t.Helper()
	run, err := c.Get(t.Context(), catalog.Key{ID: "old"})
	must(t, err)
	if run.State != outcome.Failed || run.ExitCode != 137 || run.Signal != "SIGKILL" || run.Labels["k"] != "v" ||
		run.Pinned || !run.OutputsRemovedAt.IsZero() ||
		len(run.Blobs) != 1 || run.OutputsTotal != 1 || string(run.Report) != `{"usage":{}}` {
		t.Errorf("run %+v", run)
	}
	var paths []string
	must(t, c.Outputs(t.Context(), run.Key, func(entry outputs.Entry) bool {
		paths = append(paths, string(entry.Path)+" "+entry.SHA256+string(entry.Rejected)+string(entry.Detail))
		return true
	}))
	if want := []string{"a\xff " + aDigest, "b symlink->"}; !slices.Equal(paths, want) {
		t.Errorf("outputs %q, want %q", paths, want)
	}
	at := time.Date(2026, 3, 4, 5, 6, 8, 1_000_000, time.UTC)
	wantEvents(t, c, run.Key, []catalog.Event{
		{At: at, Kind: "socket", Severity: "low", Allowed: true, Count: 1},
		{At: at, Kind: "limit", Address: []byte("a"), Severity: "medium", Count: 1},
		{At: at.Add(time.Millisecond), Kind: "connect", Address: []byte("\x00\xff"), Severity: "high", Blocked: true, Count: 1},
	})
}

// wantNews ends a run that version 1 began, with events, and keeps a selftest's report.
func wantNews(t *testing.T, c *Catalog) {
	t.Helper()
	run, err := c.Get(t.Context(), catalog.Key{ID: "open"})
	must(t, err)
	run.State, run.FinishedAt = outcome.Complete, run.CreatedAt.Add(time.Second)
	run.Events = []catalog.Event{{At: run.FinishedAt, Kind: "connect", Severity: "high", Blocked: true, Count: 7}}
	must(t, c.Commit(t.Context(), run, func() (outputs.Entry, error) { return outputs.Entry{}, io.EOF }))
	wantEvents(t, c, run.Key, run.Events)
	must(t, c.AddSelftest(t.Context(), catalog.Selftest{At: run.CreatedAt, Host: "host-1", Report: []byte(`{}`)}))
	if reports, err := c.Selftests(t.Context(), 0); err != nil || len(reports) != 1 || reports[0].Host != "host-1" {
		t.Errorf("selftests %+v, %v", reports, err)
	}
}

// wantRetention pins the old run, and drops its outputs when it is not pinned.
func wantRetention(t *testing.T, c *Catalog) {
	t.Helper()
	key := catalog.Key{ID: "old", Attempt: 1}
	must(t, c.Pin(t.Context(), key, true))
	if err := c.DropOutputs(t.Context(), key, time.UnixMilli(1)); !errors.Is(err, catalog.ErrPinned) {
		t.Errorf("DropOutputs of a pinned run: error = %v", err)
	}
	must(t, c.Pin(t.Context(), key, false))
	must(t, c.DropOutputs(t.Context(), key, time.UnixMilli(1)))
	run, err := c.Get(t.Context(), key)
	must(t, err)
	if run.Pinned || run.OutputsRemovedAt.UnixMilli() != 1 {
		t.Errorf("run %+v", run)
	}
}

func wantEvents(t *testing.T, c *Catalog, key catalog.Key, want []catalog.Event) {
	t.Helper()
	if got, err := c.Events(t.Context(), key); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("events %+v, %v, want %+v", got, err, want)
	}
}

// So does one of any version since.
func TestUpgradeFromEveryVersion(t *testing.T) {
	all, err := migrations.SQLite()
	must(t, err)
	latest, err := migrations.Latest(all)
	must(t, err)
	for version := int64(2); version < latest; version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "catalog.db")
			old, err := open(t.Context(), path, released(t, fmt.Sprintf("%05d", version)), anyone)
			must(t, err)
			must(t, old.Close())
			execute(t, path, version1)
			c := opened(t, path)
			wantVersion1(t, c)
			wantNews(t, c)
			wantRetention(t, c)
			runs, err := c.List(t.Context(), catalog.Filter{States: []outcome.State{outcome.Failed}})
			if err != nil || len(runs) != 1 || runs[0].ID != "old" {
				t.Errorf("failed runs %+v, %v", runs, err)
			}
		})
	}
}

// TestBackupIsDurable: a migration is committed at once, and the copy of before must not come to the disk after it.
func TestBackupIsDurable(t *testing.T) {
	path := filepath.Join(t.TempDir(), "catalog.db")
	old, err := open(t.Context(), path, released(t, "00002"), anyone)
	must(t, err)
	must(t, old.Close())
	durable.Check(t, func() error {
		c, err := Open(t.Context(), path)
		if err != nil {
			return err
		}
		return c.Close()
	})
}
