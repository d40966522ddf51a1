package e2e

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shortLease is the lease of the tests' workers, which a busy machine renews in time.
const shortLease = "6s"

// watching waits until that many workers have renewed their leases for three lengths without a gap, so that each may judge the others.
func (n *network) watching(count int) {
	n.t.Helper()
	until(n.t, hangTimeout, "the workers have held their leases for long", func() bool {
		time.Sleep(time.Second / 4)
		return n.server.query("SELECT count(*) FROM scidex_oci.worker_lease WHERE renewed_at - unbroken_since > 3 * length") == strconv.Itoa(count)
	})
}

// holds submits an analysis that ends with a flag, to a worker with such a lease that the machine starts.
func (m *machine) holds(f flag, lease string) (id string) {
	n := m.net
	n.t.Helper()
	id = n.id("on-" + m.host)
	n.mustRun("submit", "--id", id, "--memory", "64MiB", "--input", f.input(), "--", "sh", "-c", "until [ -s /inputs/flag ]; do sleep 0.3; done; echo done >out")
	m.work("--jobs", "1", "--lease", lease)
	n.becomes(id, "running")
	until(n.t, hangTimeout, "it runs", func() bool { return len(processesOf(id)) > 0 })
	return id
}

// judged waits until a machine's worker has given the analyses of a dead worker to others.
func (m *machine) judged(of *machine) {
	m.net.t.Helper()
	until(m.net.t, hangTimeout, "the worker of "+of.host+" is judged", func() bool {
		return m.judges(of)
	})
}

func (m *machine) judges(of *machine) bool {
	for line := range strings.Lines(readFile(m.net.t, m.log)) {
		if strings.Contains(line, "a worker is silent") && strings.Contains(line, of.host+"/") {
			return true
		}
	}
	return false
}

// noneJudged checks that no worker was taken for dead.
func (n *network) noneJudged(machines ...*machine) {
	n.t.Helper()
	for _, m := range machines {
		if log := readFile(n.t, m.log); strings.Contains(log, "a worker is silent") || strings.Contains(log, "the lease of this worker has ended") {
			n.t.Errorf("%s judged, or was judged:\n%s", m.host, log)
		}
	}
}

// workers are what `queue workers --json` has of each host: its lease, and how many analyses it has.
func (n *network) workers() map[string]string {
	n.t.Helper()
	all := map[string]string{}
	for line := range strings.Lines(n.mustRun("queue", "workers", "--json").stdout) {
		var w struct {
			Worker, Lease string
			Jobs          int
		}
		if err := decode("workers.json", []byte(line), &w); err != nil {
			n.t.Fatalf("%v: %s", err, line)
		}
		host, _, _ := strings.Cut(w.Worker, "/")
		all[host] = fmt.Sprintf("%s %d", w.Lease, w.Jobs)
	}
	return all
}

// drainedLeases checks that drained workers have left no lease.
func (n *network) drainedLeases() {
	n.t.Helper()
	if got := n.server.query("SELECT count(*) FROM scidex_oci.worker_lease"); got != "0" {
		n.t.Errorf("%s leases are left", got)
	}
}

// An analysis of a dead host goes to another worker after a lease; one of a worker without a lease does not.
func TestQueueLeaseDead(t *testing.T) {
	n := newNetwork(t)
	end := n.flag()
	dies, older, lives := n.machine(), n.machine(), n.machine()
	mine, other := dies.holds(end, shortLease), older.holds(end, "0")
	lives.work("--jobs", "1", "--lease", shortLease)
	n.watching(2)
	dies.killed()
	older.killed()
	lives.judged(dies)
	n.becomes(mine, "lost running")
	if got := n.server.query("SELECT string_agg(host, ' ') FROM scidex_oci.worker_lease"); got != lives.host {
		t.Errorf("leases of %q, want one of %s", got, lives.host)
	}
	if got, want := n.workers(), map[string]string{lives.host: "held 1", older.host: "none 1"}; !maps.Equal(got, want) {
		t.Errorf("queue workers has %v, want %v", got, want)
	}
	end.raise()
	n.becomes(mine, "lost complete")
	if got := n.attempts(other); got != "running" || lives.judges(older) {
		t.Errorf("the analysis of the worker without a lease is %q", got)
	}
	n.mustRun("queue", "rescue", n.queued(other).Worker)
	n.becomes(other, "lost complete")
	lives.end()
	n.drainedLeases()
	dies.gc()
	older.gc()
	n.doneOnce(2, dies, older, lives)
}

// A worker that is killed loses its analysis to another one after a lease, also without network namespaces: every kind
// of user runs this test.
func TestQueueLease(t *testing.T) {
	h, db := inQueue(t)
	end := h.flag()
	dies := h.worker("--jobs", "1", "--lease", shortLease)
	id := h.submit("a", "echo started; "+awaited+"; echo done >out", "--input", end.input(), "--memory", "64MiB")
	h.comes(db, id, "running")
	until(t, hangTimeout, "it has started", func() bool { return dies.do("logs", id).stdout == "started\n" })
	lives := h.worker("--jobs", "1", "--lease", shortLease, "--metrics", "127.0.0.1:0", "--log-format", "json")
	until(t, hangTimeout, "both have leases", func() bool { return strings.Count(h.mustRun("queue", "workers").stdout, " held ") == 2 })
	dies.killed()
	until(t, hangTimeout, "the other has the analysis", func() bool { return h.attempts(db, id) == "lost running" })
	if said := fmt.Sprint(h.queued(id).Errors); !strings.Contains(said, "is dead") {
		t.Errorf("queue show has the errors %s", said)
	}
	if _, text := asked(t, lives.serving()+"/metrics"); metric(t, text, "scidex_oci_worker_rescued_total") != 1 || metric(t, text, `scidex_oci_queue_workers{lease="held"}`) != 1 {
		t.Errorf("its metrics are\n%s", text)
	}
	end.raise()
	h.comes(db, id, "complete")
	if got := h.attempts(db, id); got != "lost complete" {
		t.Errorf("its attempts are %q", got)
	}
	lives.end()
	if got := lives.mustRun("outputs", "cat", id, "out").stdout; got != "done\n" || lives.results() != 1 {
		t.Errorf("%d results, of which one is %q", lives.results(), got)
	}
	if got := h.mustRun("queue", "workers").stdout; strings.Contains(got, " held ") {
		t.Errorf("leases are left:\n%s", got)
	}
	dies.mustRun("gc")
}

// A worker that is stopped for longer than its lease loses its jobs. When it goes on it notices, its result is removed,
// and it has a lease again.
func TestQueueLeaseStopped(t *testing.T) {
	n := newNetwork(t)
	end := n.flag()
	stops, lives := n.machine(), n.machine()
	id := stops.holds(end, shortLease)
	lives.work("--jobs", "1", "--lease", shortLease)
	n.watching(2)
	stops.signal(syscall.SIGSTOP)
	lives.judged(stops)
	n.becomes(id, "lost running")
	end.raise()
	n.becomes(id, "lost complete")
	stops.signal(syscall.SIGCONT)
	for _, said := range []string{"another worker has the analysis", "the lease of this worker has ended"} {
		until(t, hangTimeout, "the loser says: "+said, func() bool { return strings.Contains(readFile(t, stops.log), said) })
	}
	until(t, hangTimeout, "both have leases", func() bool { return n.server.query("SELECT count(*) FROM scidex_oci.worker_lease") == "2" })
	if got := n.attempts(id); got != "lost complete" {
		t.Errorf("its attempts are %q", got)
	}
	stops.end()
	lives.end()
	n.drainedLeases()
	n.doneOnce(1, stops, lives)
}

// If the database could not be reached for longer than a lease, no worker loses its jobs, also one that connects later
// than the others.
func TestQueueLeaseDatabaseUnavailable(t *testing.T) {
	n := newNetwork(t)
	end := n.flag()
	const lease = "8s"
	machines := []*machine{n.machine(), n.machine(), n.machine()}
	var ids []string
	for _, m := range machines {
		ids = append(ids, m.holds(end, lease))
	}
	n.watching(len(machines))
	n.server.stop(syscall.SIGKILL)
	cuts[1].cut(machines[0])
	time.Sleep(10 * time.Second) // longer than a lease
	n.server.start()
	until(t, hangTimeout, "one has renewed its lease", func() bool {
		return n.server.query("SELECT count(*) > 0 FROM scidex_oci.worker_lease WHERE renewed_at > pg_postmaster_start_time()") == "t"
	})
	cuts[1].mend(machines[0])
	n.watching(len(machines))
	n.noneJudged(machines...)
	for _, id := range ids {
		if got := n.attempts(id); got != "running" {
			t.Errorf("%s is %q", id, got)
		}
	}
	end.raise()
	for _, id := range ids {
		n.becomes(id, "complete")
	}
	for _, m := range machines {
		m.end()
	}
	n.doneOnce(len(ids), machines...)
}

// standby starts a server that follows, and is on the next port.
func (s *server) standby() *server {
	s.t.Helper()
	dir, err := os.MkdirTemp("/tmp", "scidex-postgres-")
	if err != nil {
		s.t.Fatal(err)
	}
	other := &server{t: s.t, dir: dir, before: s.before, port: s.port + 1, psql: s.psql}
	other.psql.Host, other.psql.Port = dir, other.port
	s.t.Cleanup(func() {
		other.stop(syscall.SIGQUIT)
		if err := os.RemoveAll(dir); err != nil {
			s.t.Error(err)
		}
	})
	s.must(exec.Command("chown", "postgres:", dir))
	s.must(exec.Command("chmod", "755", dir))
	s.must(s.command(s.before, filepath.Join(filepath.Dir(s.psql.Psql), "pg_basebackup"), "-h", s.dir, "-p", strconv.Itoa(s.port), "-U", s.psql.User, "-R", "-c", "fast", "-D", other.path("data")))
	s.must(exec.Command("sh", "-c", `printf "unix_socket_directories = '%s'\n" "$0" >>"$1"`, dir, other.path("data/postgresql.conf")))
	other.start()
	return other
}

// A standby that has received nothing for longer than a lease becomes the primary: its leases are old, and no worker
// loses its jobs, except one that died since.
func TestQueueLeaseFailover(t *testing.T) {
	n := newNetwork(t)
	standby := n.server.standby()
	both := "postgres://scidex@" + serverAddress + ":" + strconv.Itoa(n.server.port) + "," + serverAddress + ":" + strconv.Itoa(standby.port) +
		"/postgres?sslmode=disable&target_session_attrs=read-write"
	end := n.flag()
	machines := []*machine{n.machine(), n.machine(), n.machine()}
	var ids []string
	for _, m := range machines {
		m.setenv("SCIDEX_OCI_DB", both)
		ids = append(ids, m.holds(end, shortLease))
	}
	n.watching(len(machines))
	until(t, hangTimeout, "the standby has the runs", func() bool {
		return standby.query("SELECT count(*) FROM scidex_oci.analysis_run WHERE state = 'running'") == strconv.Itoa(len(ids))
	})
	standby.query("ALTER SYSTEM SET primary_conninfo = ''")
	standby.query("SELECT pg_reload_conf()")
	until(t, hangTimeout, "its leases are old", func() bool {
		return standby.query("SELECT count(*) FROM scidex_oci.worker_lease WHERE clock_timestamp() - renewed_at > 1.5 * length") == strconv.Itoa(len(machines))
	})
	n.server.stop(syscall.SIGKILL)
	standby.query("SELECT pg_promote()")
	n.server = standby
	n.setenv("SCIDEX_OCI_DB", standby.url())
	n.watching(len(machines))
	n.noneJudged(machines...)
	dies := machines[0]
	dies.killed()
	until(t, hangTimeout, "it is judged", func() bool { return machines[1].judges(dies) || machines[2].judges(dies) })
	end.raise()
	n.becomes(ids[0], "lost complete")
	n.becomes(ids[1], "complete")
	n.becomes(ids[2], "complete")
	for _, m := range machines[1:] {
		m.end()
	}
	dies.gc()
	n.drainedLeases()
	n.doneOnce(len(ids), machines...)
}
