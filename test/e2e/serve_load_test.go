package e2e

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"sync"
	"testing"
)

// TestServeLoad has 1,000 requests of 200 callers in progress at once, 100 of 20 in CI, twice. Every fourth caller
// disconnects without reading an answer. Nothing is lost, and afterwards as many files are open as before.
func TestServeLoad(t *testing.T) {
	h, n := newHarness(t), 20
	if inSoak() {
		n = 200
	}
	l := h.lastingEngine("--jobs=8")
	first := l.caller()
	load := newServeLoad(l, 10)
	load.round()
	load.check(first)
	before := len(l.descriptors())
	for range 2 {
		load = newServeLoad(l, n)
		load.round()
		load.check(first)
	}
	until(t, hangTimeout/2, fmt.Sprintf("no more than %d descriptors are open", before), func() bool { return len(l.descriptors()) <= before })
	l.stop()
	h.touched(h.gc())
}

// lastingEngine is an engine without hangTimeout: a soak takes as long as it takes.
func (h *harness) lastingEngine(args ...string) *listening {
	h.t.Helper()
	path := h.path("engine.sock")
	cmd := exec.CommandContext(h.t.Context(), theHost.bin, append(flags("serve", "--socket", path), args...)...)
	cmd.Dir, cmd.Env = h.dir, h.env
	return h.listening(path, cmd)
}

// requestsEach is how many a caller has in progress. The first is a wait for a detached run.
const requestsEach = 5

// serveLoad are callers that send requests at once.
type serveLoad struct {
	*listening
	callers []*served
	ids     [][]string // of the runs of each caller
}

func newServeLoad(l *listening, callers int) *serveLoad {
	l.t.Helper()
	load := &serveLoad{listening: l}
	for range callers {
		load.callers = append(load.callers, l.caller())
		load.ids = append(load.ids, l.newIDs(requestsEach))
	}
	return load
}

// goes reports whether a caller does not read its answers.
func goes(caller int) bool { return caller%4 == 3 }

// round lets all callers send requests, and then those that stay read.
func (s *serveLoad) round() {
	s.t.Helper()
	for i, c := range s.callers {
		own := func(id string) map[string]any {
			return map[string]any{"id": id, "detached": id == s.ids[i][0], "command": flags("sh", "-c", "echo $0 >own", id)}
		}
		c.write(fmt.Sprintf(`{"jsonrpc": "2.0", "id": 0, "method": "wait", "params": {"id": %q}}`+"\n", s.submits(c, own(s.ids[i][0]))))
		for _, id := range s.ids[i][1:] {
			c.send("run", own(id))
		}
	}
	var all sync.WaitGroup
	for i, c := range s.callers {
		all.Go(func() {
			defer c.to.Close()
			if goes(i) {
				return
			}
			for k := range requestsEach {
				s.read(c, s.ids[i], k)
			}
		})
	}
	all.Wait()
}

// submits returns the id of a run that is in the queue.
func (s *serveLoad) submits(c *served, params map[string]any) (id string) {
	s.t.Helper()
	if m := c.call("submit", params); m.Error != nil {
		s.t.Fatalf("%+v", m.Error)
	}
	c.number = 0
	return params["id"].(string)
}

// read checks one of the answers to a caller, each of which comes once. It is called in goroutines, none of which may end the test.
func (s *serveLoad) read(c *served, ids []string, k int) {
	line, err := c.from.ReadBytes('\n')
	var m struct {
		ID     int
		Result struct {
			ID, State string
			Outputs   []output
		}
	}
	if err != nil || json.Unmarshal(line, &m) != nil {
		s.t.Errorf("answer %d: %q, %v", k, line, err)
		return
	}
	i := m.ID
	if i < 0 || i >= len(ids) || m.Result.ID != ids[i] || m.Result.State != "complete" || len(m.Result.Outputs) != 1 || m.Result.Outputs[0].SHA256 != digest([]byte(ids[i]+"\n")) {
		s.t.Errorf("request %d of %q: %s", m.ID, ids, line)
		return
	}
	ids[i] = ids[i] + " is answered" // a second answer is an error
}

// check waits for detached runs, and checks that all others are answered, or ended with their caller.
func (s *serveLoad) check(other *served) {
	s.t.Helper()
	for i, ids := range s.ids {
		if !goes(i) {
			continue
		}
		if r := other.result(other.call("wait", map[string]any{"id": ids[0]})); r.State != "complete" {
			s.t.Errorf("the detached run of caller %d: %s, %s", i, r.State, r.Message)
		}
	}
	until(s.t, hangTimeout, "no run goes on", func() bool {
		var all struct {
			Runs   []struct{ ID string }
			Queued []string
		}
		m := other.call("list", map[string]any{"states": flags("running", "queued")})
		if err := json.Unmarshal(m.Result, &all); err != nil {
			s.t.Fatal(err)
		}
		return len(all.Runs)+len(all.Queued) == 0
	})
}

// TestServeDoesNotGrow: after 10,000 runs the memory of an engine is not more than a tenth above that after the first 1,000.
func TestServeDoesNotGrow(t *testing.T) {
	if !inSoak() {
		t.Skip("10,000 runs take minutes; scripts/soak has them")
	}
	h := newHarness(t)
	l := h.lastingEngine("--jobs=4")
	c := l.caller()
	runs := func(n int) (memory int64) {
		for batch := range slices.Chunk(make([]struct{}, n), 100) {
			for _, m := range c.all(len(c.asks(len(batch)))) {
				c.result(m).expect(t, "complete", "exit", 0)
			}
		}
		memory, err := proportional(l.cmd.Process.Pid)
		if err != nil {
			t.Fatal(err)
		}
		return memory
	}
	before := runs(1000)
	after := runs(10_000)
	t.Logf("%d KiB, then %d", before>>10, after>>10)
	if after > before+before/10 {
		t.Errorf("it has %d KiB, and had %d", after>>10, before>>10)
	}
	l.stop()
}
