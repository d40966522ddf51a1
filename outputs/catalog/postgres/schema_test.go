package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/migrations"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
)

func plainly(err error) error { return err }

// schemaUpTo is the schema of a program whose latest version was this, with one more migration if up is not empty.
func schemaUpTo(t testing.TB, version int64, up string) fs.FS {
	t.Helper()
	all, err := migrations.Postgres()
	must(t, err)
	names, err := fs.Glob(all, "*.sql")
	must(t, err)
	schema := fstest.MapFS{}
	for _, name := range names[:version] {
		text, err := fs.ReadFile(all, name)
		must(t, err)
		schema[name] = &fstest.MapFile{Data: text}
	}
	if up != "" {
		schema[fmt.Sprintf("%05d_next.sql", version+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + up)}
	}
	return schema
}

func latest(t testing.TB) int64 {
	t.Helper()
	all, err := migrations.Postgres()
	must(t, err)
	version, err := migrations.Latest(all)
	must(t, err)
	return version
}

// version1 is a run of every table as a program of version 1 wrote it.
const version1 = `
INSERT INTO scidex_oci.analysis_run (id, attempt, state, reason, message, exit_code, signal, created_at, started_at, finished_at,
	request, place, report, host, boot_id, tool_version, outputs_total, rejected_total)
	VALUES ('old', 1, 'failed', 'signal', 'it died', 137, 'SIGKILL', '2026-03-04T05:06:07Z', '2026-03-04T05:06:08Z',
	'2026-03-04T05:06:09Z', '{"id":"old"}', '{"dir":"/tmp/x"}', '{"usage":{}}', 'host-1', 'boot-1', 'v0.0.1', 1, 1),
	('open', 1, 'running', NULL, NULL, NULL, NULL, '2026-03-04T05:06:10Z', NULL, NULL, NULL, NULL, NULL, 'host-1', 'boot-1', 'v0.0.1', 0, 0);
INSERT INTO scidex_oci.run_label (id, attempt, key, value) VALUES ('old', 1, 'k', 'v');
INSERT INTO scidex_oci.run_blob (id, attempt, sha256) VALUES ('old', 1, repeat('ab', 32));
INSERT INTO scidex_oci.analysis_output (id, attempt, path, size, sha256, media_type, mode, verdict, detail, partial)
	VALUES ('old', 1, '\x61ff', 3, repeat('cd', 32), 'text/csv', 416, 'output', NULL, false),
	('old', 1, '\x62', NULL, NULL, NULL, NULL, 'symlink', '\x2d3e', false);
INSERT INTO scidex_oci.sandbox_audit_event (analysis_id, attempt, ts, seq, kind, path_or_addr, severity, allowed, blocked)
	VALUES ('old', 1, '2026-03-04T05:06:08.001Z', 1, 'connect', '\x00ff', 'high', false, true),
	('old', 1, '2026-03-04T05:06:08.001Z', 0, 'socket', NULL, 'low', true, false);
INSERT INTO scidex_oci.selftest_report (ts, host, tool_version, passed, report) VALUES ('2026-03-04T05:06:08Z', 'host-1', 'v', true, '{}')`

func TestUpgradeFromEveryVersion(t *testing.T) {
	server := theCluster(t)
	for version := int64(1); version < latest(t); version++ {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			name := server.database(t)
			old, err := open(t.Context(), server.url("boss", name), schemaUpTo(t, version, ""), plainly)
			must(t, err)
			id, err := old.CatalogID(t.Context())
			must(t, errors.Join(err, old.Close()))
			server.execute(t, name, version1)

			before, after, err := Migrate(t.Context(), server.url("boss", name))
			if err != nil || before != version || after != latest(t) {
				t.Fatalf("Migrate from %d to %d, %v", before, after, err)
			}
			c := opened(t, server.url("runner", name))
			if again, err := c.CatalogID(t.Context()); err != nil || again != id {
				t.Errorf("catalog id %q, %v, want %q", again, err, id)
			}
			wantVersion1(t, c)
			run, err := c.Get(t.Context(), catalog.Key{ID: "open"})
			must(t, err)
			must(t, c.Commit(t.Context(), over(run), many(3)))
			wantCommitted(t, c, "open", 3)
			must(t, c.DropOutputs(t.Context(), run.Key, run.CreatedAt)) // the upgrade gave scidex_run no less than before
			must(t, c.Pin(t.Context(), run.Key, true))
			if run, err = c.Get(t.Context(), run.Key); err != nil || !run.Pinned || !run.OutputsRemovedAt.Equal(run.CreatedAt) {
				t.Errorf("run %+v, %v", run, err)
			}
		})
	}
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
		paths = append(paths, string(entry.Path)+" "+string(entry.Rejected)+string(entry.Detail))
		return true
	}))
	if want := []string{"a\xff ", "b symlink->"}; !slices.Equal(paths, want) {
		t.Errorf("outputs %q, want %q", paths, want)
	}
	events, err := c.Events(t.Context(), run.Key)
	if err != nil || len(events) != 2 || events[0].Kind != "socket" || string(events[1].Address) != "\x00\xff" {
		t.Errorf("events %+v, %v", events, err)
	}
	if reports, err := c.Selftests(t.Context(), 0); err != nil || len(reports) != 1 {
		t.Errorf("selftests %+v, %v", reports, err)
	}
}

// Ten programs of a newer version migrate at once; programs of the older version go on, and cannot open the catalog again.
func TestMigrateTogether(t *testing.T) {
	server := theCluster(t)
	url := server.url("boss", server.database(t))
	old := opened(t, url)
	must(t, old.Create(t.Context(), sample("before")))
	newer := schemaUpTo(t, latest(t), "ALTER TABLE scidex_oci.analysis_run ADD COLUMN noted boolean NOT NULL DEFAULT false;")
	var wg sync.WaitGroup
	errs := make([]error, 10)
	for i := range errs {
		wg.Go(func() {
			c, err := open(t.Context(), url, newer, plainly)
			if err == nil {
				err = c.Close()
			}
			errs[i] = err
		})
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	must(t, old.Create(t.Context(), sample("after")))
	_, err := Open(t.Context(), url)
	if want := fmt.Sprintf("version %d and this program knows versions up to %d", latest(t)+1, latest(t)); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("a newer catalog: error = %v", err)
	}
}

func TestMigrationThatBreaks(t *testing.T) {
	server := theCluster(t)
	url := server.url("boss", server.database(t))
	must(t, opened(t, url).Create(t.Context(), sample("a")))
	broken := schemaUpTo(t, latest(t), "CREATE TABLE scidex_oci.half (x integer);\nCREATE TABLE scidex_oci.half (x integer);")
	_, err := open(t.Context(), url, broken, plainly)
	if want := fmt.Sprintf("migrate from version %d to %d", latest(t), latest(t)+1); err == nil || !strings.Contains(err.Error(), want) {
		t.Fatalf("error %v, want one that says %q", err, want)
	}
	if _, err := opened(t, url).Get(t.Context(), catalog.Key{ID: "a"}); err != nil {
		t.Error(err)
	}
	mended, err := open(t.Context(), url, schemaUpTo(t, latest(t), "CREATE TABLE scidex_oci.half (x integer);"), plainly)
	must(t, err)
	must(t, mended.Close())
}

func TestRefusedDatabases(t *testing.T) {
	server := theCluster(t)
	foreign := server.database(t)
	server.execute(t, foreign, "CREATE TABLE scidex_oci.theirs (x integer)")
	ascii := fmt.Sprintf("ascii_%d", databases.Add(1))
	server.execute(t, "postgres", "CREATE DATABASE "+ascii+" ENCODING 'SQL_ASCII' TEMPLATE template0")
	tests := map[string]struct {
		url  string
		want []string
	}{
		"another program's": {server.url("boss", foreign), []string{"tables of another program"}},
		"encoding":          {server.url("postgres", ascii), []string{"SQL_ASCII", "createdb --encoding=UTF8"}},
		"no database":       {server.url("boss", "nowhere"), []string{"nowhere", "createdb"}},
		"empty, runner":     {server.url("runner", server.database(t)), []string{"version 0", "scidex_admin", "catalog migrate"}},
		"stranger":          {server.url("stranger", migrated(t, server)), []string{"stranger", "may not"}},
		"wrong password":    {server.tcp("runner", "geheim", "postgres"), []string{"password authentication failed", `"runner"`, fmt.Sprint(server.port)}},
		"nobody there":      {"postgres://u:geheim@127.0.0.1:1/db", []string{"127.0.0.1:1", `"db"`, "connection refused", "check that it runs"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := Open(t.Context(), tt.url)
			if err == nil {
				must(t, c.Close())
				t.Fatal("it was opened")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q shows the password or has several lines", err)
			}
		})
	}
}

func TestURLErrorsShowNoSecret(t *testing.T) {
	for _, url := range []string{
		"postgres://u:geheim@h:x/db", "postgres://u:a/geheim@h/db", "postgres://h/db?password=geheim&sslmode=x",
		"postgres://h/db?sslpassword=geheim&sslmode=x", "postgres://h/db?sslmode=x&passphrase=geheim", "postgres://u:geheim@%zz/db",
		"host=h password=geheim", "mysql://u:geheim@h/db", "postgres://u@h/db#geheim", "postgres://u:geheim@h/db?service=none",
		"postgres://u:geheim@h/db?pool_max_conns=x", "postgres://u:geheim@h/db?connect_timeout=x", "postgres://u:geheim@h/db?sslrootcert=/nowhere&sslmode=verify-ca",
	} {
		err := Check(url)
		if err == nil || strings.Contains(err.Error(), "geheim") {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := Check("postgres://u:p%40@h1:1,h2:2/db?sslmode=disable"); err != nil {
		t.Error(err)
	}
}

// scidex_run has what it needs and nothing else; all belongs to scidex_admin, whichever of its members migrated.
func TestRoles(t *testing.T) {
	server := theCluster(t)
	name := migrated(t, server)
	granted := value[string](t, server, name, `SELECT string_agg(t, ' ' ORDER BY t) FROM (
		SELECT table_name || ':' || string_agg(privilege_type, ',' ORDER BY privilege_type) AS t
		FROM information_schema.role_table_grants WHERE grantee = 'scidex_run' GROUP BY table_name) g`)
	want := "analysis_output:INSERT,SELECT analysis_run:INSERT,SELECT,UPDATE catalog_meta:SELECT goose_db_version:SELECT " +
		"outputs_v1:SELECT run_blob:INSERT,SELECT run_label:INSERT,SELECT runs_v1:SELECT sandbox_audit_event:INSERT,SELECT selftest_report:INSERT,SELECT " +
		"worker_lease:DELETE,INSERT,SELECT,UPDATE"
	if granted != want {
		t.Errorf("scidex_run has\n%s\nwant\n%s", granted, want)
	}
	others := value[int](t, server, name, `SELECT count(*) FROM pg_class WHERE relnamespace = 'scidex_oci'::regnamespace
		AND relowner <> 'scidex_admin'::regrole`)
	if others != 0 {
		t.Errorf("%d tables, indexes or views do not belong to scidex_admin", others)
	}
	c := opened(t, server.url("runner", name))
	run := sample("a")
	must(t, c.Create(t.Context(), run))
	must(t, c.Commit(t.Context(), over(run), many(3)))
	for what, err := range map[string]error{"Delete": c.Delete(t.Context(), run.Key), "MayDelete": c.MayDelete(t.Context())} {
		if err == nil || !strings.Contains(err.Error(), `the role "runner" may not`) || !strings.Contains(err.Error(), "scidex_admin") {
			t.Errorf("%s as scidex_run: error = %v", what, err)
		}
	}
	wantCommitted(t, c, "a", 3)
	boss := opened(t, server.url("boss", name))
	must(t, boss.MayDelete(t.Context()))
	must(t, boss.Delete(t.Context(), run.Key))
}

// The script gives the same if the tables were made before it ran, by a role that is no member.
func TestRolesAfterwards(t *testing.T) {
	server := theCluster(t)
	first := migrated(t, server)
	late := server.database(t)
	server.execute(t, late, "DROP SCHEMA scidex_oci")
	_, _, err := Migrate(t.Context(), server.url("postgres", late))
	must(t, err)
	server.roles(t, late)
	if a, b := rights(t, server, first), rights(t, server, late); a != b {
		t.Errorf("rights\n%s\nwant\n%s", b, a)
	}
	c := opened(t, server.url("runner", late))
	must(t, c.Create(t.Context(), sample("a")))
}

// rights are those of all roles, in an order.
func rights(t *testing.T, c *cluster, database string) string {
	t.Helper()
	return value[string](t, c, database, `SELECT string_agg(r, ' ' ORDER BY r) FROM (
		SELECT grantee || ' ' || table_name || ' ' || privilege_type AS r FROM information_schema.role_table_grants
		WHERE table_schema = 'scidex_oci' AND grantee LIKE 'scidex%'
		UNION ALL SELECT r.grantee || ' ' || r.routine_name || ' ' || r.privilege_type FROM information_schema.role_routine_grants r
		WHERE r.routine_schema = 'scidex_oci' AND (r.grantee LIKE 'scidex%' OR r.grantee = 'PUBLIC')) g`)
}

// No connection is left after a moment, and none is there before the first use.
func TestDisconnectsWhenIdle(t *testing.T) {
	server := ownCluster(t)
	name := migrated(t, server)
	c := opened(t, server.url("runner", name))
	must(t, c.Create(t.Context(), sample("a")))
	for {
		n := value[int](t, server, "postgres", `SELECT count(*) FROM pg_stat_activity WHERE datname = $1`, name)
		if n == 0 {
			break
		}
		if err := wait(t.Context()); err != nil {
			t.Fatalf("%d connections are held: %v", n, err)
		}
	}
	must(t, c.Commit(t.Context(), over(sample("a")), many(1)))
}
