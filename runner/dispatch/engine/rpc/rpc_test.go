package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// answered is a line that a connection writes.
type answered struct {
	ID     json.RawMessage
	Method string
	Result any
	Error  *Error
}

// short is the id, the code of an error or the result.
func (a answered) short() string {
	if a.Error != nil {
		return fmt.Sprintf("%s %d", a.ID, a.Error.Code)
	}
	return fmt.Sprintf("%s %v", a.ID, a.Result)
}

// echo answers with its method, fails by its name, or waits to be canceled.
func echo(ctx context.Context, r Request) (any, error) {
	r.Taken()
	switch r.Method {
	case "fail":
		return nil, errors.New("why")
	case "panic":
		panic("bug")
	case "hang":
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return r.Method, nil
}

// peer is the caller's side of a connection that is served.
type peer struct {
	net.Conn
	t      *testing.T
	conn   *Conn
	lines  *bufio.Reader
	served chan error
}

func serve(t *testing.T, handle Handler) *peer {
	t.Helper()
	ours, theirs := net.Pipe()
	p := &peer{Conn: ours, t: t, conn: NewConn(theirs, theirs), lines: bufio.NewReader(ours), served: make(chan error, 1)}
	go func() {
		p.served <- p.conn.Serve(t.Context(), handle, func() {})
		theirs.Close()
	}()
	t.Cleanup(func() { ours.Close() })
	return p
}

func (p *peer) send(text string) {
	p.t.Helper()
	if _, err := io.WriteString(p, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *peer) next() answered {
	p.t.Helper()
	line, err := p.lines.ReadBytes('\n')
	var a answered
	if err = errors.Join(err, json.Unmarshal(line, &a)); err != nil {
		p.t.Fatalf("%q: %v", line, err)
	}
	return a
}

func request(id, method string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`+"\n", id, method)
}

// TestHostileLines: each gets an error, and the next request its answer.
func TestHostileLines(t *testing.T) {
	p := serve(t, echo)
	for line, want := range map[string]string{
		`{`:     "null -32700",
		`[1]`:   "null -32600",
		`[]`:    "null -32600",
		`1`:     "null -32600",
		`null`:  "null -32600",
		`{} {}`: "null -32700",
		"\xff":  "null -32700",
		"{\"jsonrpc\": \"2.0\", \"id\": \"\xff\", \"method\": \"a\"}": "null -32700",
		`{"id": 1}`: "1 -32600",
		`{"jsonrpc": "1.0", "id": 1, "method": "a"}`:                         "1 -32600",
		`{"jsonrpc": "2.0", "id": 1, "method": 2}`:                           "1 -32600",
		`{"jsonrpc": "2.0", "id": 1, "method": "a", "x": 1}`:                 "1 -32600",
		`{"jsonrpc": "2.0", "id": null, "method": "a"}`:                      "null -32600",
		`{"jsonrpc": "2.0", "id": 1.5, "method": "a"}`:                       "null -32600",
		`{"jsonrpc": "2.0", "id": {}, "method": "a"}`:                        "null -32600",
		`{"jsonrpc": "2.0", "method": "a"}`:                                  "null -32600",
		`{"jsonrpc": "2.0", "id": 1, "method": "a", "params": [1]}`:          "1 -32602",
		`{"jsonrpc": "2.0", "id": 1, "method": "fail"}`:                      "1 -32000",
		`{"jsonrpc": "2.0", "id": 1, "method": "panic"}`:                     "1 -32603",
		`{"jsonrpc": "2.0", "id": "` + strings.Repeat("x", 300) + `"}`:       "null -32600",
		`{"jsonrpc": "2.0", "id": "` + strings.Repeat("x", MaxLine) + `"}`:   "null -32700",
		strings.Repeat("[", MaxLine/2):                                       "null -32600",
		strings.Repeat(" ", 100) + `{"jsonrpc":"2.0","id":"a","method":"b"}`: `"a" b`,
	} {
		p.send(line + "\n")
		if got := p.next().short(); got != want {
			t.Errorf("%.60s: %s, want %s", line, got, want)
		}
		p.send("\n \n" + request("7", "next"))
		if got := p.next().short(); got != "7 next" {
			t.Errorf("after %.60s: %s", line, got)
		}
	}
}

// TestHugeLine: a line of 100 MiB is skipped in pieces.
func TestHugeLine(t *testing.T) {
	p := serve(t, echo)
	piece := strings.Repeat("x", 1<<20)
	for range 100 {
		p.send(piece)
	}
	p.send("\n" + request("1", "next"))
	for _, want := range []string{"null -32700", "1 next"} {
		if got := p.next().short(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestHalfLine: it is refused, also where it could be read, and what was asked before is answered.
func TestHalfLine(t *testing.T) {
	var out strings.Builder
	c := NewConn(strings.NewReader(request("1", "a")+strings.TrimSpace(request("2", "half"))), &out)
	if err := c.Serve(t.Context(), echo, func() {}); err != nil {
		t.Fatal(err)
	}
	lines := slices.Sorted(strings.Lines(out.String()))
	if len(lines) != 2 || !strings.Contains(lines[0], `"result":"a"`) || !strings.Contains(lines[1], "-32700") {
		t.Errorf("%q", lines)
	}
}

// TestCancel: by id, once; an id in use is refused and the first request goes on.
func TestCancel(t *testing.T) {
	p := serve(t, echo)
	p.send(request("1", "hang") + request("1", "again"))
	if got := p.next(); got.short() != "null -32600" || !strings.Contains(got.Error.Message, "id 1 ") {
		t.Errorf("%+v", got)
	}
	if p.conn.Cancel([]byte("2")) || !p.conn.Cancel([]byte("1")) {
		t.Error("it cancels another")
	}
	if got := p.next().short(); got != "1 -32800" {
		t.Error(got)
	}
	p.send(request("1", "free"))
	if got := p.next().short(); got != "1 free" {
		t.Error(got)
	}
}

// TestFlood: requests above the bound are refused, and no other suffers.
func TestFlood(t *testing.T) {
	p := serve(t, echo)
	go func() {
		for i := range MaxRequests + 10 {
			_, _ = io.WriteString(p, request(fmt.Sprint(i), "hang"))
		}
	}()
	for range 10 {
		if got := p.next(); got.Error == nil || got.Error.Code != CodeBusy {
			t.Errorf("%+v", got)
		}
	}
	p.conn.Cancel([]byte("0"))
	if got := p.next().short(); got != "0 -32800" {
		t.Error(got)
	}
}

// TestStoppedReader: its senders do not wait, and it is given up when too much waits.
func TestStoppedReader(t *testing.T) {
	ended := make(chan struct{})
	ours, theirs := net.Pipe()
	defer ours.Close()
	c := NewConn(theirs, theirs)
	served := make(chan error, 1)
	go func() { served <- c.Serve(t.Context(), echo, func() { close(ended) }) }()
	big := strings.Repeat("x", 1<<20)
	for i := 0; !c.Out.Full(); i++ {
		c.Out.Notify("log", big)
		if i > fullAt>>20 {
			t.Fatal("it is never full")
		}
	}
	for range givenUpAt >> 20 {
		c.Out.Notify("log", big)
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the connection goes on")
	}
	if err := <-served; !errors.Is(err, errSlow) {
		t.Error(err)
	}
	if c.Out.queue.Size() != 0 {
		t.Error("memory is held")
	}
}

// TestFullStopsReading: no request is read while the answers to those before wait.
func TestFullStopsReading(t *testing.T) {
	var conn *Conn
	full := make(chan bool, 1)
	p := serve(t, func(_ context.Context, r Request) (any, error) {
		if r.Method == "later" {
			full <- conn.Out.Full()
		}
		return r.Method, nil
	})
	conn = p.conn
	conn.Out.Notify("log", strings.Repeat("x", fullAt))
	p.send(request("1", "first")) // its read was in progress
	go func() { _, _ = io.WriteString(p, request("2", "later")) }()
	p.next()
	got := []string{p.next().short(), p.next().short()}
	slices.Sort(got)
	if want := []string{"1 first", "2 later"}; !slices.Equal(got, want) || <-full {
		t.Errorf("%q, want %q while there is room", got, want)
	}
}

// TestOrder: no request starts before the one before it is taken.
func TestOrder(t *testing.T) {
	var started []string // by one handler at a time
	take := make(chan struct{})
	p := serve(t, func(ctx context.Context, r Request) (any, error) {
		started = append(started, r.Method)
		<-take
		r.Taken()
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	var all strings.Builder
	var want []string
	for i := range 100 {
		want = append(want, fmt.Sprint(i))
		all.WriteString(request(want[i], want[i]))
	}
	go func() { _, _ = io.WriteString(p, all.String()) }()
	for range want {
		take <- struct{}{}
	}
	p.conn.Cancel([]byte("99"))
	p.next()
	if !slices.Equal(started, want) {
		t.Errorf("%q", started)
	}
}

// TestLeavesNoGoroutine: callers that go in the middle of requests, notifications and lines leave nothing.
func TestLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for i := range 200 {
		p := serve(t, echo)
		p.send(request("1", "hang") + request("2", "hang"))
		p.conn.Out.Notify("log", strings.Repeat("x", 1<<10))
		if i%2 == 0 {
			p.send("{")
		}
		p.Close()
		if err := <-p.served; err != nil && !errors.Is(err, io.ErrClosedPipe) {
			t.Error(err)
		}
	}
	for deadline := time.Now().Add(2 * time.Minute); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, and before %d", runtime.NumGoroutine(), before)
		}
	}
}
