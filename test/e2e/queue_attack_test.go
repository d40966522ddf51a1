package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// collecting calls gc on machines again and again until it is stopped, and ignores the results.
func (n *network) collecting(machines ...*machine) (stop func()) {
	end := make(chan struct{})
	var all sync.WaitGroup
	for _, m := range machines {
		all.Go(func() {
			for {
				select {
				case <-end:
					return
				case <-time.After(200 * time.Millisecond):
					m.calls("gc")
				}
			}
		})
	}
	stop = sync.OnceFunc(func() {
		close(end)
		all.Wait()
	})
	n.t.Cleanup(stop)
	return stop
}

// awaits submits an analysis that ends with a flag, and waits until the machine has taken it.
func (m *machine) awaits(f flag, args ...string) (id string) {
	n := m.net
	n.t.Helper()
	id = n.id("on-" + m.host)
	n.mustRun(append(append(flags("submit", "--id", id, "--memory", "64MiB", "--input", f.input()), args...), "--", "sh", "-c", awaited+"; echo done >out")...)
	m.work("--jobs", "1")
	n.becomes(id, "running")
	until(n.t, hangTimeout, "it runs", func() bool { return len(processesOf(id)) > 0 })
	return id
}

// goesOn checks that the worker, which has run one analysis, runs one more, and that both were done once.
func (n *network) goesOn(m *machine, stop func()) {
	n.t.Helper()
	after := n.id("after")
	n.mustRun("submit", "--id", after, "--memory", "64MiB", "--", "sh", "-c", "echo done >out")
	n.becomes(after, "complete")
	until(n.t, hangTimeout, "both jobs have ended", func() bool { return n.waiting() == "0" })
	stop()
	m.end()
	n.doneOnce(2, m)
}

// left are transactions whose clients are silent.
func (s *server) left() string {
	s.t.Helper()
	return s.query("SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'")
}

// A worker that is stopped, also within its transactions, for longer than a rescue takes loses its jobs to another,
// holds nobody up for longer than half a minute, and notices when it goes on.
func TestQueueWorkerStopped(t *testing.T) {
	if !inSoak() {
		t.Skip("it waits for 30 s until the server ends sessions that stand still: scripts/soak runs it")
	}
	n := newNetwork(t)
	end := n.flag()
	taken, leading, running, committing := n.machine(), n.machine(), n.machine(), n.machine()
	all := []*machine{taken, leading, running, committing}
	holding := map[*machine]func(){}

	first := n.id("on-" + taken.host)
	n.mustRun("submit", "--id", first, "--memory", "64MiB", "--", "sh", "-c", "echo done >out")
	holding[taken] = n.server.holding(rowOf(first))
	taken.work("--jobs", "1")
	until(t, hangTimeout, "it waits for its row", func() bool { return n.server.blocked() != "0" })
	running.awaits(end)
	last := committing.awaits(end)
	holding[committing] = n.server.holding(rowOf(last))
	running.signal(syscall.SIGSTOP)
	end.raise()
	until(t, hangTimeout, "it waits for its row", func() bool { return n.server.blocked() == "2" })
	n.server.query("DELETE FROM scidex_oci.river_leader")
	holding[leading] = n.server.holding("INSERT INTO scidex_oci.river_leader VALUES (now(), now() + interval '1 hour', 'nobody', 'default')")
	leading.work("--jobs", "1")
	until(t, hangTimeout, "it waits to lead", func() bool {
		return n.server.query("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%river_leader%'") != "0"
	})
	for _, m := range all {
		m.signal(syscall.SIGSTOP)
		if release := holding[m]; release != nil {
			release()
		}
	}
	until(t, hangTimeout, "transactions are left open", func() bool { return n.server.left() != "0" })
	t.Logf("%s transactions are left open", n.server.left())

	n.server.query("UPDATE scidex_oci.river_job SET attempted_at = attempted_at - interval '1 day' WHERE state = 'running'")
	rescuer := n.machine()
	stop := n.collecting(append(all, rescuer)...)
	rescuer.work("--jobs", "3")
	until(t, hangTimeout, "all of them are done", func() bool { return n.waiting() == "0" })
	if got := n.server.left(); got != "0" {
		t.Errorf("%s transactions are open yet", got)
	}
	for _, m := range all {
		m.signal(syscall.SIGCONT)
	}
	for _, m := range []*machine{running, committing} {
		until(t, hangTimeout, "the loser knows", func() bool { return strings.Contains(readFile(t, m.log), "another worker has the analysis") })
	}
	stop()
	for _, m := range append(all, rescuer) {
		m.end()
	}
	n.doneOnce(3, append(all, rescuer)...)
}

// If PostgreSQL accepts no more connections, submit reports it, and workers lose nothing and go on when it does again.
func TestQueueConnectionsUsedUp(t *testing.T) {
	n := newNetwork(t, "max_connections = 24")
	n.server.must(exec.Command(n.server.psql.Psql, "-Xq", "-v", "ON_ERROR_STOP=1", "-h", n.server.dir, "-U", "scidex", "-d", "postgres", "-f", "../../docs/postgres/roles.sql"))
	n.mustRun("catalog", "migrate")
	n.server.query("CREATE ROLE platform LOGIN IN ROLE scidex_run")
	asPlatform := func(h *harness, url string) {
		h.setenv("SCIDEX_OCI_DB", strings.Replace(url, "scidex@", "platform@", 1))
	}
	asPlatform(n.harness, n.server.url())
	m := n.machine()
	asPlatform(m.harness, n.server.urlAt(serverAddress))
	end := n.flag()
	id := m.awaits(end)

	const others = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'others'"
	use := func() {
		cmd := n.server.psql.asking("others", "SELECT pg_sleep(3600)")
		cmd.Env = append(cmd.Env, "PGUSER=platform")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = cmd.Process.Kill() // it may have been refused
			_ = cmd.Wait()
		})
	}
	full := func() bool {
		out := n.do("ls")
		return out.code == 125 && strings.Contains(out.stderr, "has no connection left for this role") && strings.Contains(out.stderr, "try again later")
	}
	until(t, hangTimeout, "all connections are used", func() bool {
		if full() {
			return true
		}
		was := n.server.query(others)
		use()
		time.Sleep(50 * time.Millisecond)
		return was == n.server.query(others) && full()
	})
	stop := n.collecting(m)
	n.server.query("ALTER ROLE platform CONNECTION LIMIT 0") // also if other connections of the worker end at that time
	n.mustRefuse(flags("submit", "--id", n.id("refused"), "--", "true"), "has no connection left for this role", "try again later")
	time.Sleep(2 * time.Second) // till the catalog's own have ended
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return m.analysisEnded(id) })
	time.Sleep(3 * time.Second) // it is tried to commit
	if got := n.attempts(id); got != "running" {
		t.Errorf("without a connection it is %q", got)
	}
	n.server.query("ALTER ROLE platform CONNECTION LIMIT -1; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'others'")
	n.becomes(id, "complete")
	n.goesOn(m, stop)
}

// A PostgreSQL that is read-only, such as a standby, takes no result; the result is kept, and committed once the server
// is the primary.
func TestQueueStandby(t *testing.T) {
	n := newNetwork(t)
	end := n.flag()
	m := n.machine()
	id := m.awaits(end)
	n.server.stop(syscall.SIGINT)
	if err := os.WriteFile(n.server.path("data/standby.signal"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	n.server.must(exec.Command("chown", "postgres:", n.server.path("data/standby.signal")))
	n.server.start()
	if got := n.server.query("SELECT pg_is_in_recovery()"); got != "t" {
		t.Fatalf("in recovery: %s", got)
	}
	stop := n.collecting(m)
	n.mustRefuse(flags("submit", "--id", n.id("refused"), "--", "true"), "read", "standby", "--db")
	end.raise()
	until(t, hangTimeout, "the analysis has ended", func() bool { return m.analysisEnded(id) })
	time.Sleep(3 * time.Second) // it is tried to commit
	if got := n.attempts(id); got != "running" {
		t.Errorf("on a standby it is %q", got)
	}
	n.server.query("SELECT pg_promote()")
	n.becomes(id, "complete")
	n.goesOn(m, stop)
}

// If transactions are read-only by default, results are committed, but no jobs are taken until that ends.
func TestQueueReadOnly(t *testing.T) {
	n := newNetwork(t)
	end := n.flag()
	m := n.machine()
	id := m.awaits(end)
	set := func(value string) {
		n.server.query("ALTER SYSTEM SET default_transaction_read_only = " + value)
		n.server.query("SELECT pg_reload_conf()")
		until(t, hangTimeout, "it is so", func() bool { return n.server.query("SHOW default_transaction_read_only") == value })
	}
	set("on")
	stop := n.collecting(m)
	after := n.id("after")
	n.mustRun("submit", "--id", after, "--memory", "64MiB", "--", "sh", "-c", "echo done >out")
	end.raise()
	n.becomes(id, "complete")
	time.Sleep(3 * time.Second) // it would be taken
	if got := n.attempts(after); got != "queued" {
		t.Errorf("what was submitted meanwhile is %q", got)
	}
	set("off")
	n.becomes(after, "complete")
	until(t, hangTimeout, "both jobs have ended", func() bool { return n.waiting() == "0" })
	stop()
	m.end()
	n.doneOnce(2, m)
}

// A worker with a full disk reports the analyses that it cannot keep, which are queued again, and goes on with those that fit.
func TestQueueDiskFull(t *testing.T) {
	n := newNetwork(t)
	m := n.machine()
	if err := os.MkdirAll(m.root, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", m.root, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "size=8m,mode=700"); err != nil {
		t.Skipf("this host mounts no tmpfs, and a full disk of a worker is not tested: %v", err)
	}
	t.Cleanup(func() {
		m.stopped()
		if err := unix.Unmount(m.root, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	m.work("--jobs", "2", "--min-free", "0")
	m.ready()
	stop := n.collecting(m)
	large := n.id("large")
	n.mustRun("submit", "--id", large, "--memory", "64MiB", "--retries", "1", "--", "sh", "-c", "head -c 20M /dev/urandom >out")
	n.becomes(large, "error error")
	attempts := flags(large+"@1", large+"@2")
	for _, attempt := range attempts { // what could not be read is not lost
		if r := n.show(attempt); !strings.Contains(r.Message, "no space left") || filepath.Dir(r.Kept) != m.tmp {
			t.Errorf("%s: %s; kept is %q", attempt, r.Message, r.Kept)
		}
	}
	var small []string
	for i := range 3 {
		small = append(small, n.id("small-"+strconv.Itoa(i)))
		n.mustRun("submit", "--id", small[i], "--memory", "64MiB", "--", "sh", "-c", "echo $0 >out", strconv.Itoa(i))
	}
	for _, id := range small {
		n.becomes(id, "complete")
	}
	filler := filepath.Join(m.root, "filler")
	if out, err := exec.Command("sh", "-c", `head -c 8M /dev/zero >"$0" || true`, filler).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	none := n.id("none")
	n.mustRun("submit", "--id", none, "--memory", "64MiB", "--retries", "10", "--", "sh", "-c", "echo done >out")
	until(t, hangTimeout, "it is refused, or given back", func() bool { return strings.Contains(n.attempts(none), "error ") || n.queued(none).Why != "" })
	t.Logf("on a full disk: %q, %+v", n.attempts(none), n.queued(none))
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "it is done", func() bool { return strings.HasSuffix(n.attempts(none), "complete") })
	if err := unix.Mount("tmpfs", m.root, "tmpfs", unix.MS_REMOUNT|unix.MS_NOSUID|unix.MS_NODEV, "size=64m"); err != nil {
		t.Fatal(err)
	}
	n.mustRun("queue", "retry", large)
	until(t, hangTimeout, "with room it is done", func() bool { return n.attempts(large) == "error error complete" })
	until(t, hangTimeout, "all jobs have ended", func() bool { return n.waiting() == "0" })
	stop()
	m.end()
	if out := m.calls(append(flags("rm"), attempts...)...); out.code != 0 {
		t.Errorf("rm: %s", out.stderr)
	}
	n.nothingLeft(m)
	if out := m.calls("catalog", "check", "--digests"); out.code != 0 {
		t.Errorf("check: %s%s", out.stdout, out.stderr)
	}
}
