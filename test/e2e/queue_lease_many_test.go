package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cable is the connection of one worker to the database. While it is cut nothing passes, and neither end is notified.
type cable struct {
	net.Listener
	to    string
	mu    sync.Mutex
	whole *sync.Cond
	cut   bool
	ends  []net.Conn
}

func newCable(t *testing.T, to string) *cable {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{Listener: l, to: to}
	c.whole = sync.NewCond(&c.mu)
	go c.serve()
	t.Cleanup(func() {
		l.Close()
		c.hangUp()
		c.set(false)
	})
	return c
}

func (c *cable) serve() {
	for {
		client, err := c.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", c.to)
		if err != nil {
			client.Close()
			continue
		}
		c.mu.Lock()
		c.ends = append(c.ends, client, server)
		c.mu.Unlock()
		go c.pass(client, server)
		go c.pass(server, client)
	}
}

// pass copies from one end to the other, and waits while the cable is cut.
func (c *cable) pass(from, to net.Conn) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		c.mu.Lock()
		for c.cut {
			c.whole.Wait()
		}
		c.mu.Unlock()
		if n > 0 {
			_, _ = to.Write(buffer[:n]) // an end that is gone is found by the next read
		}
		if err != nil {
			from.Close()
			to.Close()
			return
		}
	}
}

func (c *cable) set(cut bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = cut
	c.whole.Broadcast()
}

// hangUp ends all connections.
func (c *cable) hangUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, end := range c.ends {
		end.Close()
	}
	c.ends = nil
}

// struck is a worker that is killed, stopped and cut off.
type struck struct {
	*hosted
	*cable
	args []string
	rand *rand.Rand
	hits map[string]int
}

// judged stops the worker until the others have taken it for dead, and only so many have a lease.
func (v *struck) judged(db database, others int) {
	v.t.Helper()
	v.signal(syscall.SIGSTOP)
	until(v.t, hangTimeout, "a worker that is stopped is judged", func() bool {
		time.Sleep(time.Second / 4)
		return db.query(v.t, "", "SELECT count(*) FROM scidex_oci.worker_lease") == strconv.Itoa(others)
	})
	v.signal(syscall.SIGCONT)
}

// suffer is one failure, and its end after a while.
func (v *struck) suffer(while time.Duration) {
	kinds := []string{"killed", "stopped", "cut off", "hung up"}
	kind := kinds[v.rand.IntN(len(kinds))]
	v.hits[kind]++
	switch kind {
	case "killed":
		v.killed()
		time.Sleep(while)
		v.hosted = v.again(v.args...)
	case "stopped":
		v.signal(syscall.SIGSTOP)
		time.Sleep(while)
		v.signal(syscall.SIGCONT)
	case "cut off", "hung up":
		v.set(true)
		time.Sleep(while)
		if kind == "hung up" {
			v.hangUp()
		}
		v.set(false)
	}
}

// sufferUntil is failures at random moments, which last for up to four leases.
func (v *struck) sufferUntil(end time.Time, lease time.Duration) {
	for {
		time.Sleep(time.Duration(v.rand.Float64() * 3 * float64(lease)))
		if time.Now().After(end) {
			return
		}
		v.suffer(time.Duration(v.rand.Float64() * 4 * float64(lease)))
	}
}

// A third of all workers are killed, stopped and cut off from the database at random, and each analysis has exactly one result.
// scripts/soak: 100 workers and 5,000 analyses in ten minutes.
func TestQueueLeaseMany(t *testing.T) {
	if !theHost.root {
		t.Skip("how a job comes to a worker does not depend on the user; the tests as root cover it")
	}
	workers, analyses, lease, span := 6, 120, 3*time.Second, 30*time.Second
	if inSoak() {
		workers, analyses, lease, span = 100, 5000, 10*time.Second, 10*time.Minute
	}
	h := newHarness(t)
	var db database
	if err := json.Unmarshal([]byte(startServer(t, "../../scripts/postgres", "-c", "max_connections=2000")), &db); err != nil {
		t.Fatal(err)
	}
	h.setenv("SCIDEX_OCI_DB", db.url())
	h.mustRun("catalog", "migrate")
	seed := drawSeed(t)
	args := flags("--jobs", "1", "--total-memory", "4GiB", "--total-cpus", "1", "--lease", lease.String())

	var all []*struck
	for i := range workers {
		v := &struck{cable: newCable(t, net.JoinHostPort("127.0.0.1", db.port())), args: args, rand: rand.New(rand.NewPCG(seed, uint64(i))), hits: map[string]int{}}
		own := h.in(t)
		own.env = append(slices.Clone(h.env), "SCIDEX_OCI_DB="+strings.Replace(db.url(), "127.0.0.1:"+db.port(), v.Addr().String(), 1))
		v.hosted = own.worker(args...)
		all = append(all, v)
	}
	until(t, hangTimeout, "the workers judge", func() bool {
		time.Sleep(time.Second)
		return db.query(t, "", "SELECT count(*) FROM scidex_oci.worker_lease WHERE renewed_at - unbroken_since > 2 * length") == strconv.Itoa(workers)
	})
	all[0].judged(db, workers-1)
	end := time.Now().Add(span)
	var suffering sync.WaitGroup
	for _, v := range all[:workers/3] {
		suffering.Go(func() { v.sufferUntil(end, lease) })
	}
	const parts = 40
	for part := range parts {
		var lines []manifest
		for i := part * analyses / parts; i < (part+1)*analyses/parts; i++ {
			lines = append(lines, manifest{"id": h.id(strconv.Itoa(i)), "command": flags("true"), "data": "none", "docs": "none", "memory": "64MiB"})
		}
		h.mustRun("submit", "--retries", "20", "--batch", h.lines(lines...))
		time.Sleep(time.Until(end) / time.Duration(parts-part))
	}
	suffering.Wait()
	until(t, 4*hangTimeout, "all analyses have ended", func() bool {
		time.Sleep(time.Second)
		return db.query(t, "", "SELECT count(*) FROM scidex_oci.river_job WHERE state <> 'completed'") == "0"
	})
	hits, said := map[string]int{}, map[string]int{}
	for _, v := range all {
		for kind, n := range v.hits {
			hits[kind] += n
		}
		v.end()
		v.mustRun("gc") // a worker that was killed may have left a state file
		for _, path := range matches(v.path("log*")) {
			log := readFile(t, path)
			for _, words := range []string{"a worker is silent", "the lease of this worker has ended", "another worker has the analysis", "a worker of this root was killed"} {
				said[words] += strings.Count(log, words)
			}
		}
	}
	t.Logf("seed %d: %v; %v", seed, hits, said)
	t.Logf("attempts and analyses: %s; states: %s",
		db.query(t, "", "SELECT string_agg(n || ': ' || c, ', ' ORDER BY n) FROM (SELECT n, count(*) c FROM (SELECT count(*) n FROM scidex_oci.analysis_run GROUP BY id) r GROUP BY n) a"),
		db.query(t, "", "SELECT string_agg(state || ': ' || c, ', ') FROM (SELECT state, count(*) c FROM scidex_oci.analysis_run GROUP BY state) a"))
	once := db.query(t, "", `SELECT count(*) || ' ' || count(*) FILTER (WHERE complete = 1 AND final) FROM (
		SELECT id, count(*) FILTER (WHERE state = 'complete') complete, bool_and(state IN ('complete', 'lost', 'error', 'canceled')) final
		FROM scidex_oci.analysis_run GROUP BY id) r`)
	if want := fmt.Sprintf("%d %[1]d", analyses); once != want {
		t.Errorf("analyses, and those with exactly one result: %s, want %s", once, want)
	}
	if got := db.query(t, "", "SELECT count(*) FROM scidex_oci.worker_lease"); got != "0" {
		t.Errorf("%s leases are left", got)
	}
}
