package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// cluster is a PostgreSQL of the tests' own: Debian's programs, a directory, a socket in it, a port on loopback.
type cluster struct {
	programs string // the directory of initdb and postgres
	dir      string
	port     int
	as       *syscall.Credential // whom the server runs as; nil for the caller
	server   *exec.Cmd
	died     chan error
	making   sync.Mutex // a database: its roles are those of the whole cluster
	held     *os.File   // the directory, locked as long as this process lives

	copying   sync.Mutex
	originals map[string]string // databases that others are copies of, by what is in them
	empty     chan string       // databases with the newest schema that a test has given back
}

// shared is the cluster of all tests of this process that need not stop it; every test has databases of its own.
var shared struct {
	once sync.Once
	*cluster
	err error
}

var databases atomic.Int64

// theCluster starts the shared cluster.
func theCluster(t testing.TB) *cluster {
	t.Helper()
	shared.once.Do(func() { shared.cluster, shared.err = newCluster() })
	if shared.err != nil {
		t.Fatalf("start PostgreSQL: %v", shared.err)
	}
	return shared.cluster
}

// ownCluster starts a cluster that a test may stop.
func ownCluster(t testing.TB) *cluster {
	t.Helper()
	c, err := newCluster()
	if err != nil {
		t.Fatalf("start PostgreSQL: %v", err)
	}
	t.Cleanup(func() {
		if err := c.remove(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func newCluster() (c *cluster, err error) {
	c = &cluster{originals: map[string]string{}, empty: make(chan string, 100)}
	if c.programs, err = programs(); err != nil {
		return nil, err
	}
	removeAbandoned()
	if err = c.makeDirectory(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.RemoveAll(c.dir), c.held.Close())
		}
	}()
	if os.Geteuid() == 0 { // the server refuses to be root
		if c.as, err = credential("postgres"); err != nil {
			return nil, err
		}
		if err = os.Chown(c.dir, int(c.as.Uid), int(c.as.Gid)); err != nil {
			return nil, err
		}
	}
	out, err := c.command("initdb", "-D", c.data(), "--username=postgres", "--encoding=UTF8", "--locale=C", "--no-sync").CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if err = c.configure(); err != nil {
		return nil, err
	}
	return c, c.start()
}

// makeDirectory makes the directory and locks it. Another process may take it for abandoned before it is locked.
func (c *cluster) makeDirectory() (err error) {
	for range 10 {
		if c.dir, err = os.MkdirTemp("/tmp", "scidex-pg-"); err != nil { // a socket's path is short
			return err
		}
		if c.held, err = lockDirectory(c.dir); err == nil {
			return nil
		}
	}
	return err
}

// lockDirectory locks a directory, which must still be there afterwards.
func lockDirectory(dir string) (*os.File, error) {
	held, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(held.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		_, err = os.Stat(dir)
	}
	if err != nil {
		return nil, errors.Join(err, held.Close())
	}
	return held, nil
}

// removeAbandoned removes the directories that tests left when they were killed: no process has them locked.
func removeAbandoned() {
	found, _ := filepath.Glob("/tmp/scidex-pg-*") // the pattern is good
	for _, dir := range found {
		if held, err := lockDirectory(dir); err == nil {
			_ = os.RemoveAll(dir) // another user's stays
			_ = held.Close()
		}
	}
}

// programs is where Debian keeps those of the newest version.
func programs() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is good
	if len(found) == 0 {
		return "", errors.New("there is none in /usr/lib/postgresql; let root install it: apt-get install -y postgresql")
	}
	return filepath.Dir(slices.Max(found)), nil
}

func credential(name string) (*syscall.Credential, error) {
	account, err := user.Lookup(name)
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (c *cluster) data() string { return filepath.Join(c.dir, "data") }

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.programs, name), args...)
	cmd.Dir = c.dir
	cmd.Env = []string{"LC_ALL=C", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.as}
	return cmd
}

// configure lets everyone in by the socket, which its directory protects, and by TCP with a password.
func (c *cluster) configure() error {
	settings := fmt.Sprintf("listen_addresses = '127.0.0.1'\nunix_socket_directories = '%s'\nmax_connections = 200\nfsync = off\nfull_page_writes = off\nautovacuum = off\n", c.dir)
	file, err := os.OpenFile(filepath.Join(c.data(), "postgresql.conf"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(settings)
	rules := "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	return errors.Join(err, file.Close(), os.WriteFile(filepath.Join(c.data(), "pg_hba.conf"), []byte(rules), 0o600))
}

// start starts the server on a port that is free now, or the one it had.
func (c *cluster) start() error {
	var err error
	for range 5 {
		if c.port == 0 {
			if c.port, err = freePort(); err != nil {
				return err
			}
		}
		if err = c.startOnce(); err == nil {
			return nil
		}
		c.port = 0
	}
	return err
}

func (c *cluster) startOnce() error {
	log, err := os.OpenFile(c.log(), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := c.command("postgres", "-D", c.data(), "-p", strconv.Itoa(c.port))
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr.Pdeathsig = syscall.SIGQUIT // it ends with the tests, also when they are killed
	c.server, c.died = cmd, make(chan error, 1)
	began := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the signal comes at the end of the thread that started it
		err := cmd.Start()
		began <- err
		if err == nil {
			c.died <- cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		return err
	}
	return c.awaitReady()
}

func (c *cluster) awaitReady() error {
	for {
		conn, err := pgx.Connect(context.Background(), c.url("postgres", "postgres"))
		if err == nil {
			return conn.Close(context.Background())
		}
		select {
		case died := <-c.died:
			c.died <- died
			text, _ := os.ReadFile(c.log())
			return fmt.Errorf("the server ended: %w: %s", died, text)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (c *cluster) log() string { return filepath.Join(c.dir, "log") }

// stop ends the server with one of its signals: SIGINT closes all connections and writes everything to disk, SIGQUIT
// ends at once, as a crash does.
func (c *cluster) stop(signal syscall.Signal) error {
	if err := c.server.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	if err := <-c.died; err != nil && c.server.ProcessState == nil { // how it ended is the signal's doing
		return err
	}
	return nil
}

func (c *cluster) remove() error {
	return errors.Join(c.stop(syscall.SIGINT), os.RemoveAll(c.dir), c.held.Close())
}

// url names a database by the socket.
func (c *cluster) url(role, database string) string {
	query := url.Values{"host": {c.dir}, "port": {strconv.Itoa(c.port)}, "user": {role}}
	return "postgres:///" + database + "?" + query.Encode()
}

// tcp names a database by the port.
func (c *cluster) tcp(role, password, database string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(role, password), Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(c.port)), Path: database}
	return u.String()
}

// execute runs SQL as the superuser.
func (c *cluster) execute(t testing.TB, database, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), c.url("postgres", database))
	must(t, err)
	_, err = conn.Exec(context.Background(), sql, args...)
	must(t, errors.Join(err, conn.Close(context.Background())))
}

// value reads one value as the superuser.
func value[T any](t testing.TB, c *cluster, database, sql string, args ...any) (v T) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), c.url("postgres", database))
	must(t, err)
	err = conn.QueryRow(context.Background(), sql, args...).Scan(&v)
	must(t, errors.Join(err, conn.Close(context.Background())))
	return v
}

// logins are members of the roles of docs/postgres/roles.sql.
const logins = `
	CREATE ROLE runner LOGIN PASSWORD 'runner-password' IN ROLE scidex_run;
	CREATE ROLE boss LOGIN PASSWORD 'boss-password' IN ROLE scidex_admin;
	CREATE ROLE stranger LOGIN`

// database makes an empty database with the roles and the schema that the documented script makes.
func (c *cluster) database(t testing.TB) string {
	t.Helper()
	c.making.Lock()
	defer c.making.Unlock()
	name := fmt.Sprintf("catalog_%d", databases.Add(1))
	c.execute(t, "postgres", "CREATE DATABASE "+name)
	c.roles(t, name)
	if !value[bool](t, c, name, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = 'runner')`) {
		c.execute(t, name, logins)
	}
	return name
}

// copyOf makes a copy of a database that fill makes of an empty one, once for each what. Its identity is its own.
func (c *cluster) copyOf(t testing.TB, what string, fill func(original string)) string {
	t.Helper()
	c.copying.Lock()
	defer c.copying.Unlock()
	if c.originals[what] == "" {
		original := c.database(t)
		fill(original)
		c.originals[what] = original
	}
	name := fmt.Sprintf("catalog_%d", databases.Add(1))
	c.execute(t, "postgres", "CREATE DATABASE "+name+" TEMPLATE "+c.originals[what])
	c.execute(t, name, `UPDATE scidex_oci.catalog_meta SET value = replace(gen_random_uuid()::text, '-', '') WHERE key = 'catalog_id'`)
	return name
}

// lent is a database with the newest schema, for a test that leaves the schema as it is. Emptying one takes the server a tenth
// of what a new one does.
func (c *cluster) lent(t testing.TB) (name string) {
	t.Helper()
	select {
	case name = <-c.empty:
		// A client that was killed may have left a session which still executes something.
		for value[bool](t, c, "postgres", `SELECT count(pg_terminate_backend(pid)) > 0 FROM pg_stat_activity WHERE datname = $1`, name) {
			time.Sleep(time.Millisecond)
		}
		c.execute(t, name, `DO $$ BEGIN EXECUTE (
			SELECT 'TRUNCATE ' || string_agg(format('%I.%I', schemaname, tablename), ', ') || ' RESTART IDENTITY' FROM pg_tables
			WHERE schemaname = 'scidex_oci' AND tablename NOT IN ('catalog_meta', 'goose_db_version')); END $$;
			UPDATE scidex_oci.catalog_meta SET value = replace(gen_random_uuid()::text, '-', '') WHERE key = 'catalog_id'`)
	default:
		name = migrated(t, c)
	}
	t.Cleanup(func() { c.empty <- name })
	return name
}

// roles runs the documented script.
func (c *cluster) roles(t testing.TB, database string) {
	t.Helper()
	script, err := os.ReadFile("../../../docs/postgres/roles.sql")
	must(t, err)
	c.execute(t, database, string(script))
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAbandonedDirectoriesAreRemoved: directories of killed tests are removed, those that a living process has locked stay.
func TestAbandonedDirectoriesAreRemoved(t *testing.T) {
	var live cluster
	must(t, live.makeDirectory())
	t.Cleanup(func() { must(t, errors.Join(os.RemoveAll(live.dir), live.held.Close())) })
	abandoned, err := os.MkdirTemp("/tmp", "scidex-pg-")
	must(t, err)
	removeAbandoned()
	if _, err := os.Stat(abandoned); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is left: %v", abandoned, err)
	}
	if _, err := os.Stat(live.dir); err != nil {
		t.Error(err)
	}
}
