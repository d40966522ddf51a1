package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// gate passes connections on to a database while it is open.
type gate struct {
	db      database
	address string // its own

	mu       sync.Mutex
	listener net.Listener
	passed   []net.Conn
}

func newGate(t *testing.T, db database) *gate {
	t.Helper()
	g := &gate{db: db, address: "127.0.0.1:0"}
	g.open(t)
	g.address = g.listener.Addr().String()
	t.Cleanup(g.shut)
	return g
}

// url names the database by the gate.
func (g *gate) url() string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword(g.db.User, dbPassword), Host: g.address, Path: g.db.Database}
	return u.String()
}

func (g *gate) open(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", g.address)
	if err != nil {
		t.Fatal(err)
	}
	g.listener = l
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			g.mu.Lock()
			g.passed = append(g.passed, client)
			g.mu.Unlock()
			go g.db.pass(client)
		}
	}()
}

// shut refuses connections, and ends those that there are.
func (g *gate) shut() {
	g.listener.Close()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, client := range g.passed {
		client.Close()
	}
	g.passed = nil
}

// waitingBatch is a batch that reads lines, and whose standard error is in a file.
type waitingBatch struct {
	h    *harness
	cmd  *exec.Cmd
	to   io.WriteCloser
	from *bufio.Reader
	said string
}

func (h *harness) waitingBatch(args ...string) *waitingBatch {
	h.t.Helper()
	b := &waitingBatch{h: h, cmd: h.command(theHost.bin, append([]string{"batch", "--jobs=2"}, append(args, "-")...)...), said: h.path("said")}
	said, err := os.Create(b.said)
	if err != nil {
		h.t.Fatal(err)
	}
	defer said.Close()
	b.cmd.Stderr = said
	stdout, err := b.cmd.StdoutPipe()
	if err == nil {
		b.to, err = b.cmd.StdinPipe()
	}
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	b.from = bufio.NewReader(stdout)
	return b
}

func (b *waitingBatch) write(lines ...manifest) {
	b.h.t.Helper()
	for _, line := range lines {
		text, err := json.Marshal(line)
		if err == nil {
			_, err = b.to.Write(append(text, '\n'))
		}
		if err != nil {
			b.h.t.Fatal(err)
		}
	}
}

func (b *waitingBatch) read() result {
	b.h.t.Helper()
	text, err := b.from.ReadString('\n')
	if err != nil {
		b.h.t.Fatalf("%v; it said %s", err, readFile(b.h.t, b.said))
	}
	r, err := parseResult([]byte(text))
	if err != nil {
		b.h.t.Fatal(err)
	}
	return r
}

// waits returns when the batch has said that it waits.
func (b *waitingBatch) waits() {
	b.h.t.Helper()
	until(b.h.t, hangTimeout, "the batch waits for the catalog", func() bool {
		return strings.Contains(readFile(b.h.t, b.said), "no line is started until it is reached")
	})
}

// TestBatchCatalogUnavailable: lines wait while PostgreSQL cannot be reached, and go on by themselves.
func TestBatchCatalogUnavailable(t *testing.T) {
	h, db := inPostgres(t)
	g := newGate(t, db)
	h.setenv("SCIDEX_OCI_DB", g.url())
	for _, args := range [][]string{nil, {"--resume"}} {
		t.Run(fmt.Sprint(args), func(t *testing.T) {
			h := h.in(t)
			line := func() manifest { return manifest{"id": h.newID(), "command": []string{"true"}} }
			b := h.waitingBatch(args...)
			b.write(line())
			b.read().expect(t, "complete", "exit", 0)
			g.shut()
			b.write(line(), line(), line(), line())
			b.waits()
			g.open(t)
			for range 4 {
				b.read().expect(t, "complete", "exit", 0)
			}
			b.to.Close()
			if err := b.cmd.Wait(); err != nil {
				t.Error(err)
			}
			said := readFile(t, b.said)
			if strings.Count(said, "no line is started") != 1 || strings.Count(said, "the catalog is reached again") != 1 || strings.Contains(said, dbPassword) {
				t.Errorf("it said %s", said)
			}
		})
	}
}

// TestBatchCatalogUnavailableStopped: a waiting batch can be stopped, and leaves nothing.
func TestBatchCatalogUnavailableStopped(t *testing.T) {
	h, db := inPostgres(t)
	g := newGate(t, db)
	h.setenv("SCIDEX_OCI_DB", g.url())
	b := h.waitingBatch()
	id := h.newID()
	b.write(manifest{"command": []string{"true"}, "id": h.newID()})
	b.read().expect(t, "complete", "exit", 0)
	g.shut()
	b.write(manifest{"command": []string{"true"}, "id": id})
	b.waits()
	if err := b.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var r result // it has no attempt
	if text, err := b.from.ReadString('\n'); err != nil || json.Unmarshal([]byte(text), &r) != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if r.ID != id || r.State != "canceled" || r.Reason != "stopped" || r.ExitCode != 143 {
		t.Errorf("the result is %+v", r)
	}
	h.ended(b.cmd, 143)
	if left := leftovers(id, h.root); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
	g.open(t)
	h.mustRefuse([]string{"show", id}, "no run")
}
