package e2e

import (
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
)

// hostileCaller is what a caller does to an engine. running is the id of a run that goes on. end, if not nil, is called
// when others have been served at the same time.
type hostileCaller func(c *served, running string) (end func())

var hostileCallers = map[string]hostileCaller{
	"half a line": func(c *served, _ string) func() {
		c.write(`{"jsonrpc": "2.0", "id": 1, "meth`)
		return nil
	},
	"half a line, and gone": func(c *served, running string) func() {
		c.write(`{"jsonrpc": "2.0", "id": 1, "method": "stop", "params": {"id": "` + running + `"}}`)
		c.to.Close()
		return nil
	},
	"a line of 100 MB": func(c *served, _ string) func() {
		for range 100 {
			c.write(strings.Repeat("x", 1<<20))
		}
		c.refusesLine("")
		return nil
	},
	"no UTF-8": func(c *served, _ string) func() {
		c.refusesLine("{\"jsonrpc\": \"2.0\", \"id\": \"\xff\", \"method\": \"list\"}")
		return nil
	},
	"NUL": func(c *served, _ string) func() {
		c.refusesLine("{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"list\x00\"}")
		return nil
	},
	"deep nesting":  nested,
	"ids in use":    collides,
	"waits":         floodsWithWaits,
	"reads nothing": readsNothing,
	"comes and goes": func(c *served, _ string) func() {
		for i := range 1000 {
			other, err := net.Dial("unix", c.to.(net.Conn).RemoteAddr().String())
			if err != nil {
				c.t.Fatal(err)
			}
			_, _ = io.WriteString(other, strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"list"}`+"\n", i%3)) // it does not wait for an answer
			other.Close()
		}
		return nil
	},
}

// refusesLine sends a line that is no JSON and then a request.
func (s *served) refusesLine(line string) {
	s.t.Helper()
	s.write(line + "\n")
	if m := s.next(); string(m.ID) != "null" || m.Error == nil || m.Error.Code != -32700 {
		s.t.Errorf("%.60q: %s %+v", line, m.ID, m.Error)
	}
	s.goesOn()
}

// goesOn checks that the connection goes on.
func (s *served) goesOn() {
	s.t.Helper()
	if m := s.call("list", nil); m.Error != nil {
		s.t.Errorf("afterwards: %+v", m.Error)
	}
}

// nested sends requests that are nested too deeply, and less deeply.
func nested(c *served, _ string) func() {
	for depth, code := range map[int]int{100_000: -32700, 9_000: -32602} {
		c.write(`{"jsonrpc": "2.0", "id": 0, "method": "run", "params": {"command": ["true"], "labels": ` + strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth) + "}}\n")
		c.refused(c.next(), code)
	}
	c.goesOn()
	return nil
}

// collides uses ids twice: those of its own requests, and that of another caller's run.
func collides(c *served, running string) func() {
	wait := fmt.Sprintf(`{"jsonrpc": "2.0", "id": "w", "method": "wait", "params": {"id": %q}}`+"\n", running)
	c.write(wait + wait)
	if m := c.next(); string(m.ID) != "null" {
		c.t.Errorf("the second is answered as %s", m.ID)
	} else {
		c.refused(m, -32600, `"w"`)
	}
	c.send("cancel", map[string]any{"id": "w"})
	for _, m := range c.all(2) {
		if string(m.ID) == `"w"` {
			c.refused(m, -32800)
		}
	}
	c.refused(c.call("run", map[string]any{"id": running, "command": flags("true")}), -32602, running)
	return nil
}

// floodsWithWaits has more requests in progress than a connection may have.
func floodsWithWaits(c *served, running string) func() {
	const most, more = 4096, 10
	for range most + more {
		c.send("wait", map[string]any{"id": running})
	}
	for range more {
		c.refused(c.next(), -32002)
	}
	return func() { c.to.Close() }
}

// readsNothing sends requests until none is accepted any more.
func readsNothing(c *served, _ string) func() {
	go func() {
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(c.to, `{"jsonrpc": "2.0", "id": %d, "method": "list", "params": {"limit": 1000}}`+"\n", i); err != nil {
				return
			}
		}
	}()
	return func() { c.to.Close() }
}

// TestServeHostile: during each hostile caller another one gets all its answers, and afterwards the engine has the same
// resources as before.
func TestServeHostile(t *testing.T) {
	h := newHarness(t)
	l := h.engine("--jobs=3")
	good, running := l.caller(), h.id("running")
	good.call("submit", good.stays(running, nil))
	h.logged(running, "ready")
	good.expectAnswers(t, good.asks(20))
	before := len(l.descriptors())
	for name, hostile := range hostileCallers {
		t.Run(name, func(t *testing.T) {
			c := l.caller()
			c.harness = h.in(t)
			asked := good.asks(5)
			end := hostile(c, running)
			good.expectAnswers(t, append(asked, good.asks(5)...))
			if end != nil {
				end()
			}
			c.to.Close()
		})
	}
	until(t, hangTimeout/2, fmt.Sprintf("no more than %d descriptors are open", before), func() bool { return len(l.descriptors()) <= before })
	good.result(good.call("stop", map[string]any{"id": running, "now": true})).expect(t, "canceled", "stopped", 143)
	l.stop()
}

// asks starts runs and returns the ids of the requests.
func (s *served) asks(n int) (ids []string) {
	s.t.Helper()
	for range n {
		ids = append(ids, s.send("run", map[string]any{"id": s.newID(), "command": flags("true")}))
	}
	return ids
}

// expectAnswers reads as many answers and checks that each run is complete.
func (s *served) expectAnswers(t *testing.T, ids []string) {
	t.Helper()
	got := s.all(len(ids))
	for _, id := range ids {
		if m, ok := got[id]; !ok || m.Error != nil {
			t.Errorf("request %s has no result: %+v", id, m.Error)
		} else {
			s.result(m).expect(t, "complete", "exit", 0)
		}
	}
}

// descriptors are the open files of an engine, but for those of the catalog: SQLite keeps some for the next connection.
func (l *listening) descriptors() (names []string) {
	l.t.Helper()
	dir := fmt.Sprintf("/proc/%d/fd/", l.cmd.Process.Pid)
	all, err := os.ReadDir(dir)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, one := range all {
		name, err := os.Readlink(dir + one.Name())
		if err == nil && !strings.Contains(name, "catalog.db") {
			names = append(names, name)
		}
	}
	return names
}

// TestServeCallers: as many callers as there may be are all served, one more is refused with an error, and served when one has gone.
func TestServeCallers(t *testing.T) {
	h := newHarness(t)
	l := h.engine("--jobs=2")
	const most = 512
	var callers []*served
	for range most { // one after the other, so that the engine has seen the end of the one that waited for its start
		c := l.caller()
		c.goesOn()
		callers = append(callers, c)
	}
	more := l.caller()
	if m := more.next(); string(m.ID) != "null" {
		t.Errorf("the error is of %s", m.ID)
	} else {
		more.refused(m, -32002, "512 callers")
	}
	if _, err := more.from.ReadByte(); err != io.EOF {
		t.Errorf("after its error: %v", err)
	}
	callers[0].to.Close()
	until(t, hangTimeout, "there is a place", func() bool {
		c := l.caller()
		defer c.to.Close()
		_, _ = io.WriteString(c.to, `{"jsonrpc": "2.0", "id": 1, "method": "list"}`+"\n") // it may be refused already
		line, _ := c.from.ReadString('\n')
		return strings.Contains(line, `"result"`)
	})
	callers[1].expectAnswers(t, callers[1].asks(3))
	l.stop()
}
