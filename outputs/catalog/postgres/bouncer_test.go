package postgres

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scidex-ai/scidex-oci/outputs"
)

// bouncer starts a PgBouncer in transaction mode with two connections for each role and database.
func (c *cluster) bouncer(t *testing.T) (urlOf func(role, database string) string) {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // which is not in an ordinary user's PATH
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("%v; let root install it: apt-get install -y pgbouncer", err)
	}
	port, err := freePort()
	must(t, err)
	dir, err := os.MkdirTemp(c.dir, "bouncer-")
	must(t, err)
	config := filepath.Join(dir, "pgbouncer.ini")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `[databases]
* = host=%s port=%d
[pgbouncer]
pool_mode = transaction
default_pool_size = 2
max_client_conn = 100
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = trust
auth_file = %s/users
`, c.dir, c.port, port, dir), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "users"), []byte("\"boss\" \"\"\n\"runner\" \"\"\n"), 0o644))
	must(t, os.Chmod(dir, 0o755))
	cmd := exec.Command(program, "-q", config)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		must(t, os.RemoveAll(dir))
	})
	urlOf = func(role, database string) string {
		return "postgres://127.0.0.1:" + strconv.Itoa(port) + "/" + database + "?" + url.Values{"user": {role}, "sslmode": {"disable"}}.Encode()
	}
	return urlOf
}

// Migration and everything else work if each transaction may have another session, shared with others.
func TestPgBouncer(t *testing.T) {
	server := theCluster(t)
	urlOf := server.bouncer(t)
	name := server.database(t)
	must(t, retry(t.Context(), timeout, func() error {
		_, _, err := Migrate(t.Context(), urlOf("boss", name))
		return err
	}))
	var wg sync.WaitGroup
	errs := make([]error, 6)
	for i := range errs {
		wg.Go(func() { errs[i] = commitThrough(t.Context(), urlOf("runner", name), i) })
	}
	wg.Wait()
	must(t, errors.Join(errs...))
	c := opened(t, server.url("runner", name))
	for i := range errs {
		for j := range 5 {
			wantCommitted(t, c, fmt.Sprintf("run-%d-%d", i, j), 100)
		}
	}
	boss := opened(t, urlOf("boss", name))
	must(t, boss.Delete(t.Context(), sample("run-0-0").Key))
	last := opened(t, urlOf("runner", name)) // a reader who hung up may have taken the session of a writer with it
	must(t, last.Create(t.Context(), sample("last")))
	must(t, last.Commit(t.Context(), over(sample("last")), many(1)))
	wantNoSession(t, urlOf("runner", name))
}

func commitThrough(ctx context.Context, url string, i int) error {
	c, err := Open(ctx, url)
	if err != nil {
		return err
	}
	for j := range 5 {
		run := sample(fmt.Sprintf("run-%d-%d", i, j))
		err = c.Create(ctx, run)
		if err == nil {
			err = c.Commit(ctx, over(run), many(100))
		}
		if err == nil {
			err = c.Outputs(ctx, run.Key, func(outputs.Entry) bool { return false })
		}
		if err == nil {
			_, err = c.Find(ctx, run.ID)
		}
		if err != nil {
			break
		}
	}
	return errors.Join(err, c.Close())
}

// wantNoSession looks at the sessions that were used: nothing of the catalog is left in them.
func wantNoSession(t *testing.T, url string) {
	t.Helper()
	config, err := pgx.ParseConfig(url)
	must(t, err)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	for range 4 {
		conn, err := pgx.ConnectConfig(t.Context(), config)
		must(t, err)
		var left string
		err = conn.QueryRow(t.Context(), `SELECT concat_ws(' ', (SELECT count(*) FROM pg_prepared_statements), current_setting('lock_timeout'),
			current_setting('idle_in_transaction_session_timeout'), (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'))`).Scan(&left)
		must(t, errors.Join(err, conn.Close(t.Context())))
		if left != "0 0 0 0" {
			t.Errorf("prepared statements, timeouts and locks in a session: %s", left)
		}
	}
}
