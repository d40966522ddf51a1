package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// network is a PostgreSQL and machines at one switch. Each has a network namespace of its own, without a route to the
// host's network: the test itself uses the server's socket.
type network struct {
	*harness        // of who submits
	name     string // begins those of its namespaces
	server   *server
	ports    int
}

// Addresses of the network. Every end has permanent entries for all others (ip-neighbour(8)), so that a dropped packet
// is not noticed by a missing answer to ARP.
const (
	serverAddress = "10.99.0.1"
	serverMAC     = "02:00:00:00:00:01"
	nobodysMAC    = "02:00:00:00:00:ff"
)

// newNetwork makes one, whose PostgreSQL has such settings. why says why it cannot be made.
func newNetwork(t *testing.T, settings ...string) *network {
	t.Helper()
	if !theHost.root {
		t.Skip("only root can make network namespaces that are joined; the tests as root cover it")
	}
	n := &network{harness: newHarness(t), name: newPrefix()}
	space := n.space("db")
	if out, err := exec.Command("ip", "netns", "add", space).CombinedOutput(); err != nil {
		t.Skipf("this host makes no network namespace, and what happens between machines is not tested: %v: %s", err, out)
	}
	t.Cleanup(func() { n.ip("netns", "del", space) })
	if out, err := exec.Command("ip", "-n", space, "link", "add", "switch", "address", serverMAC, "type", "bridge").CombinedOutput(); err != nil {
		t.Skipf("this host has no network bridge, and what happens between machines is not tested: %v: %s", err, out)
	}
	n.ip("-n", space, "link", "set", "lo", "up")
	n.ip("-n", space, "link", "set", "switch", "up")
	n.ip("-n", space, "address", "add", serverAddress+"/24", "dev", "switch")
	n.server = newServer(t, inSpace(space), settings...)
	n.setenv("SCIDEX_OCI_DB", n.server.url())
	n.mustRun("catalog", "migrate")
	return n
}

func (n *network) space(of string) string { return n.name + "-" + of }

// inSpace are words before a command that run it in a network namespace. Unlike "ip netns exec" nsenter does not change
// /sys, which has the control groups.
func inSpace(space string) []string { return flags("nsenter", "--net=/run/netns/"+space, "--") }

// ip is the command of iproute2, which must succeed.
func (n *network) ip(args ...string) {
	n.t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		n.t.Errorf("ip %q: %v: %s", args, err, out)
	}
}

// machine is a host at the network with a root, a place for working directories and a name of its own, and the worker that
// was started there last.
type machine struct {
	*hosted
	net     *network
	host    string
	number  int
	workers int
}

// machine joins one more.
func (n *network) machine() *machine {
	n.t.Helper()
	n.ports++
	m := &machine{net: n, number: n.ports, host: fmt.Sprintf("host-%d", n.ports)}
	space, db := n.space(m.host), n.space("db")
	n.ip("netns", "add", space)
	n.t.Cleanup(func() { n.ip("netns", "del", space) })
	n.ip("-n", db, "link", "add", m.port(), "type", "veth", "peer", "name", "eth0", "address", m.mac(), "netns", space)
	n.ip("-n", db, "link", "set", m.port(), "master", "switch", "up")
	n.ip("-n", space, "link", "set", "lo", "up")
	n.ip("-n", space, "link", "set", "eth0", "up")
	n.ip("-n", space, "address", "add", m.address()+"/24", "dev", "eth0")
	m.learn()
	m.hosted = &hosted{harness: newHarness(n.t)}
	m.run, m.tmp = n.run, m.path("tmp") // the ids are those of who submits
	if err := os.Mkdir(m.tmp, 0o755); err != nil {
		n.t.Fatal(err)
	}
	m.setenv("SCIDEX_OCI_TMP", m.tmp)
	m.setenv("SCIDEX_OCI_DB", n.server.urlAt(serverAddress))
	n.t.Cleanup(func() {
		m.stopped()
		if left := matches(filepath.Join(m.tmp, "*")); len(left) > 0 {
			n.t.Errorf("left behind on %s: %q", m.host, left)
		}
		if n.t.Failed() {
			for i := range m.workers {
				n.t.Logf("worker %d of %s said:\n%s", i+1, m.host, readFile(n.t, m.path(fmt.Sprintf("log-%d", i+1))))
			}
		}
	})
	return m
}

func (m *machine) port() string    { return "port-" + strconv.Itoa(m.number) }
func (m *machine) address() string { return fmt.Sprintf("10.99.0.%d", m.number+10) }
func (m *machine) mac() string     { return fmt.Sprintf("02:00:00:00:01:%02x", m.number) }

// learn makes machine and server know each other's addresses.
func (m *machine) learn() {
	m.net.ip("-n", m.net.space(m.host), "neigh", "replace", serverAddress, "lladdr", serverMAC, "dev", "eth0", "nud", "permanent")
	m.net.ip("-n", m.net.space("db"), "neigh", "replace", m.address(), "lladdr", m.mac(), "dev", "switch", "nud", "permanent")
}

// cuts are failures of a network by name: how the machine loses it, and how it is restored.
var cuts = []struct {
	name string
	cut  func(*machine)
	mend func(*machine)
}{
	{"link down", func(m *machine) { m.atPort("down") }, func(m *machine) { m.atPort("up") }},
	{"black hole", func(m *machine) { m.atPort("nomaster") }, func(m *machine) { m.atPort("master", "switch") }},
	{"no replies", (*machine).loseReplies, (*machine).learn},
}

func (m *machine) atPort(words ...string) {
	m.net.ip(append(flags("-n", m.net.space("db"), "link", "set", m.port()), words...)...)
}

// loseReplies lets the server receive from the machine, and the machine receive nothing.
func (m *machine) loseReplies() {
	m.net.ip("-n", m.net.space("db"), "neigh", "replace", m.address(), "lladdr", nobodysMAC, "dev", "switch", "nud", "permanent")
}

// there are the words before those of scidex-oci on the machine. Each of them executes the next.
func (m *machine) there() []string {
	return append(inSpace(m.net.space(m.host)), "unshare", "--uts", "sh", "-c", `hostname "$0" && exec "$@"`, m.host, theHost.bin)
}

// calls is a call of scidex-oci on the machine.
func (m *machine) calls(args ...string) outcome {
	m.net.t.Helper()
	words := append(m.there(), args...)
	return m.finish(m.command(words[0], words[1:]...))
}

// gc is scidex-oci gc on the machine.
func (m *machine) gc() {
	m.net.t.Helper()
	if out := m.calls("gc"); out.code != 0 {
		m.net.t.Errorf("gc on %s: exit code %d: %s", m.host, out.code, out.stderr)
	}
}

// work starts a worker on the machine.
func (m *machine) work(args ...string) {
	m.net.t.Helper()
	m.workers++
	m.out, m.log, m.ended = m.path(fmt.Sprintf("results-%d", m.workers)), m.path(fmt.Sprintf("log-%d", m.workers)), make(chan struct{})
	words := append(m.there(), "worker", "--log-level", "info", "--total-memory", "64GiB", "--total-cpus", "64")
	words = append(words, args...)
	m.cmd = exec.Command(words[0], words[1:]...)
	m.cmd.Dir, m.cmd.Env = m.dir, m.env
	stdout, err := os.Create(m.out)
	stderr, err2 := os.Create(m.log)
	if err := errors.Join(err, err2); err != nil {
		m.net.t.Fatal(err)
	}
	m.cmd.Stdout, m.cmd.Stderr = stdout, stderr
	if err := m.cmd.Start(); err != nil {
		m.net.t.Fatal(err)
	}
	cmd, ended := m.cmd, m.ended
	go func() {
		_ = cmd.Wait() // end looks at its code
		close(ended)
	}()
}

// stopped kills the worker if there is one.
func (m *machine) stopped() {
	if m.cmd != nil {
		m.killed()
	}
}

// ready waits until the worker of the machine takes jobs.
func (m *machine) ready() {
	m.net.t.Helper()
	until(m.net.t, hangTimeout, "the worker of "+m.host+" asks for jobs", func() bool { return strings.Contains(readFile(m.net.t, m.log), "client started") })
}

// server is a PostgreSQL that its test may stop and start.
type server struct {
	t      *testing.T
	dir    string   // has data, log and socket
	before []string // words before the command
	port   int
	cmd    *exec.Cmd
	ended  chan struct{}
	psql   database
}

// newServer starts one, behind words such as those of inSpace.
func newServer(t *testing.T, before []string, settings ...string) *server {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "scidex-postgres-") // a socket's path is short
	if err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, dir: dir, before: before, port: 5432} // nobody else is in its namespace
	t.Cleanup(func() {
		s.stop(syscall.SIGQUIT)
		if t.Failed() {
			t.Logf("the end of PostgreSQL's log:\n%s", lastLines(readFile(t, s.path("log")), 40))
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	found := matches("/usr/lib/postgresql/*/bin/initdb")
	if len(found) == 0 {
		t.Fatal("PostgreSQL was not found in /usr/lib/postgresql; install it: apt-get install -y postgresql")
	}
	programs := filepath.Dir(found[len(found)-1])
	s.psql = database{Host: dir, Port: s.port, User: "scidex", Database: "postgres", Psql: filepath.Join(programs, "psql")}
	s.must(exec.Command("chown", "postgres:", dir))
	s.must(exec.Command("chmod", "755", dir))
	s.must(s.command(nil, filepath.Join(programs, "initdb"), "-D", s.path("data"), "--username=scidex", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"))
	add := "listen_addresses = '*'\nunix_socket_directories = '" + dir + "'\nfsync = off\nlog_line_prefix = '%m [%p] '\n" + strings.Join(settings, "\n") + "\n"
	s.must(exec.Command("sh", "-c", `printf %s "$0" >>"$1"; printf 'host all all samenet trust\n' >>"$2"`, add, s.path("data/postgresql.conf"), s.path("data/pg_hba.conf")))
	s.start()
	return s
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

// url is that of the socket.
func (s *server) url() string {
	return fmt.Sprintf("postgres://scidex@/postgres?host=%s&port=%d", s.dir, s.port)
}

func (s *server) urlAt(address string) string {
	return fmt.Sprintf("postgres://scidex@%s:%d/postgres?sslmode=disable", address, s.port)
}

func (s *server) command(before []string, words ...string) *exec.Cmd {
	words = append(append(append([]string{}, before...), "setpriv", "--reuid", "postgres", "--regid", "postgres", "--init-groups", "--pdeathsig", "QUIT", "--"), words...)
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Env = s.dir, flags("LC_ALL=C", "PATH="+os.Getenv("PATH"))
	return cmd
}

func (s *server) must(cmd *exec.Cmd) {
	s.t.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("%q: %v: %s", cmd.Args, err, out)
	}
}

// start starts the server and waits until it answers. After a SIGKILL of the last one that may take until its processes
// have noticed that.
func (s *server) start() {
	s.t.Helper()
	until(s.t, hangTimeout, "PostgreSQL starts", func() bool {
		log, err := os.OpenFile(s.path("log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			s.t.Fatal(err)
		}
		defer log.Close()
		s.cmd = s.command(s.before, filepath.Join(filepath.Dir(s.psql.Psql), "postgres"), "-D", s.path("data"), "-p", strconv.Itoa(s.port))
		s.cmd.Stdout, s.cmd.Stderr = log, log
		if err := s.cmd.Start(); err != nil {
			s.t.Fatal(err)
		}
		cmd, ended := s.cmd, make(chan struct{})
		s.ended = ended
		go func() {
			_ = cmd.Wait() // however it ended
			close(ended)
		}()
		for {
			select {
			case <-ended:
				return false
			case <-time.After(20 * time.Millisecond):
			}
			if out, err := s.asking("SELECT 1").Output(); err == nil && bytes.Equal(out, []byte("1\n")) {
				return true
			}
		}
	})
}

// stop ends the server: SIGINT closes all connections and writes everything to disk, SIGQUIT ends at once, SIGKILL is a crash.
func (s *server) stop(signal syscall.Signal) {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(signal) // it may have ended
		<-s.ended
	}
}

func (s *server) asking(sql string) *exec.Cmd { return s.psql.asking("", sql) }

func (s *server) query(sql string) string {
	s.t.Helper()
	return s.psql.query(s.t, "", sql)
}

// holding keeps the rows that a statement locks until it is released.
func (s *server) holding(sql string) (release func()) {
	s.t.Helper()
	name := newPrefix()
	cmd := s.psql.asking(name, "BEGIN; "+sql+"; SELECT pg_sleep(3600)")
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	release = func() {
		s.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = '" + name + "'")
		_ = cmd.Wait() // it was ended
	}
	until(s.t, hangTimeout, "the rows are held", func() bool {
		return s.query("SELECT count(*) FROM pg_stat_activity WHERE application_name = '"+name+"' AND wait_event = 'PgSleep'") == "1"
	})
	return release
}

// blocked is how many sessions wait for a row.
func (s *server) blocked() string {
	s.t.Helper()
	return s.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'")
}

// overdue makes it look as if the running jobs had been taken long ago, and River's leader had died: the next leader
// gives them to others.
func (s *server) overdue() {
	s.t.Helper()
	s.query("UPDATE scidex_oci.river_job SET attempted_at = attempted_at - interval '1 day' WHERE state = 'running'; DELETE FROM scidex_oci.river_leader")
}

func lastLines(text string, n int) string {
	lines := strings.SplitAfter(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "")
}
