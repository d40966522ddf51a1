package e2e

import (
	"bufio"
	"cmp"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// database is a real PostgreSQL of the host, on every address and on sockets, with a canary in its table
// "secret": what scripts/postgres prints.
type database struct {
	Host     string   `json:"-"` // an address or a directory of sockets; empty for loopback
	Port     int      `json:"port"`
	User     string   `json:"user"`
	Database string   `json:"database"`
	Canary   string   `json:"canary"`
	Log      string   `json:"log"`  // of the server; it names every connection
	Psql     string   `json:"psql"` // the client
	Sockets  []string `json:"sockets"`
}

// theDatabase returns the server that scripts/test has started, or starts one for this test.
func theDatabase(t *testing.T) database {
	t.Helper()
	line := os.Getenv("SCIDEX_OCI_TEST_POSTGRES")
	if line == "" {
		line = startServer(t, "../../scripts/postgres")
	}
	var db database
	if err := json.Unmarshal([]byte(line), &db); err != nil {
		t.Fatalf("coordinates of PostgreSQL: %v in %q", err, line)
	}
	lockDatabase(t, db.Log)
	return db
}

// databaseLock is held by this process once it uses the server of scripts/test: tests count its connections.
var databaseLock *os.File

// lockDatabase waits until no other process uses the server, and keeps it for this process until it ends.
func lockDatabase(t *testing.T, log string) {
	t.Helper()
	if databaseLock != nil && databaseLock.Name() == log {
		return
	}
	file, err := os.Open(log)
	if err == nil {
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		t.Fatal(err)
	}
	databaseLock = file
}

// startServer starts a server that ends with the test, or with this process, whose end of the pipe is the only one, and
// returns the line that it prints when it answers.
func startServer(t *testing.T, command ...string) string {
	t.Helper()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatalf("start %s: %v; copy scripts/ too", command, err)
	}
	t.Cleanup(func() {
		stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("stop %s: %v", command, err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("start %s: %v", command, err)
	}
	return line
}

// port is the port as text.
func (db database) port() string { return strconv.Itoa(db.Port) }

// connections is how often the server was reached so far, by its log. It makes a connection itself, which counts too
// and comes after all that were in progress.
func (db database) connections(t *testing.T) int {
	t.Helper()
	marker := newPrefix()
	db.query(t, marker, "SELECT 1")
	until(t, hangTimeout, "the server has told of our connection", func() bool {
		return strings.Contains(readFile(t, db.Log), marker)
	})
	time.Sleep(100 * time.Millisecond) // one process of the server for each connection writes to the log
	return strings.Count(readFile(t, db.Log), "connection received")
}

// clients is how many clients the server has at this moment, without the one that counts.
func (db database) clients(t *testing.T) string {
	t.Helper()
	return db.query(t, "", "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
}

// query runs a query as a client of the name.
func (db database) query(t *testing.T, name, sql string) string {
	t.Helper()
	out, err := db.asking(name, sql).Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", sql, err, stderrOf(err))
	}
	return strings.TrimSpace(string(out))
}

func (db database) asking(name, sql string) *exec.Cmd {
	cmd := exec.Command(db.Psql, "-XAtq", "-h", cmp.Or(db.Host, "127.0.0.1"), "-p", db.port(), "-U", db.User, "-d", db.Database, "-c", sql)
	cmd.Env = []string{"PGAPPNAME=" + name}
	return cmd
}

// relay listens and passes connections on to the database.
func (db database) relay(t *testing.T, network, address string) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go db.pass(client)
		}
	}()
}

func (db database) pass(client net.Conn) {
	defer client.Close()
	server, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", db.port()))
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		_, _ = io.Copy(server, client) // the client's errors are its own
		_ = server.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(client, server)
}
