package e2e

import (
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// TestServeKilledAtRandom kills engines at random moments of their first run: the promises about a killed `run` hold for each.
func TestServeKilledAtRandom(t *testing.T) {
	k, n := newKilling(newHarness(t)), 8
	if inSoak() {
		n = 100
	}
	k.launchAs, k.victims = (*harness).launchServed, victims[:1]
	k.all(n)
}

// launchServed starts an engine that runs the id, with another request behind it, as a launch of the id.
func (h *harness) launchServed(id string, args ...string) *launch {
	h.t.Helper()
	return h.launchRequests(id, args, map[string]any{"id": behind(id), "command": flags("true")})
}

// behind is the id of the request behind another one.
func behind(id string) string { return id + "-behind" }

// launchRequests starts an engine that runs the id, and others after it.
func (h *harness) launchRequests(id string, args []string, others ...map[string]any) *launch {
	h.t.Helper()
	line := runLine{h: h, fields: map[string]any{"id": id, "events": true}}
	if !line.read(args) {
		h.t.Fatalf("no request has %q", args)
	}
	requests := append([]map[string]any{line.fields}, others...)
	l := &launch{h: h, id: id, cmd: h.command(theHost.bin, "serve", "--stdio", "--jobs=1"), lines: make(chan string, 1000), ended: make(chan struct{})}
	to, err := l.cmd.StdinPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	from, err := l.cmd.StdoutPipe()
	if err == nil {
		err = l.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	for i, params := range requests {
		if err := json.NewEncoder(to).Encode(map[string]any{"jsonrpc": "2.0", "id": i, "method": "run", "params": params}); err != nil {
			h.t.Fatal(err)
		}
	}
	go l.readServed(json.NewDecoder(from), to, len(requests))
	h.t.Cleanup(func() { _ = l.cmd.Process.Kill(); <-l.ended })
	return l
}

// readServed notes the lines of the analysis and its result. The engine ends with the last answer.
func (l *launch) readServed(from *json.Decoder, to io.Closer, answers int) {
	for {
		var m message
		if from.Decode(&m) != nil {
			break
		}
		var event struct{ Data struct{ Text string } }
		switch _ = json.Unmarshal(m.Params, &event); { // only those of logs have some
		case event.Data.Text != "":
			l.lines <- strings.TrimSuffix(event.Data.Text, "\n")
		case string(m.ID) == "0":
			l.stdout.Write(append(m.Result, '\n'))
			fallthrough
		case len(m.ID) > 0:
			answers--
		}
		if answers == 0 {
			to.Close()
		}
	}
	close(l.lines)
	l.err = l.cmd.Wait()
	close(l.ended)
}

// killPoint is a moment at which a run is held.
type killPoint struct {
	script string
	await  func(h *harness, id string) (release func())
	state  string // after gc
	reason string
	others []map[string]any // requests that wait
}

var killPoints = map[string]killPoint{
	"running": {"echo ready; exec sleep 600", func(h *harness, id string) func() {
		h.logged(id, "ready")
		until(h.t, hangTimeout, "the row names the directory", func() bool { return h.placed(id) })
		return func() {}
	}, "lost", "supervisor_lost", []map[string]any{{"id": "waits", "command": flags("true")}}},
	"before the commit": {"echo ready; " + awaited + "; echo kept >kept", func(h *harness, id string) func() {
		h.logged(id, "ready")
		until(h.t, hangTimeout, "the row names the directory", func() bool { return h.placed(id) })
		release := h.lockCatalog()
		flag{h.t, h.path("flag")}.raise()
		until(h.t, hangTimeout, "its output is stored", func() bool { return len(matches(h.blobPath(digest([]byte("kept\n"))))) == 1 })
		return release
	}, "complete", "exit", nil},
}

// TestServeKilledLeavesWhatRunLeaves: at each of these moments a killed engine leaves what a killed `run` leaves, and after gc there is the same.
func TestServeKilledLeavesWhatRunLeaves(t *testing.T) {
	for name, p := range killPoints {
		t.Run(name, func(t *testing.T) {
			want := p.strike(t, func(h *harness, id string, args []string) *launch { return h.launch(id, args...) })
			got := p.strike(t, func(h *harness, id string, args []string) *launch { return h.launchRequests(id, args, p.others...) })
			if !slices.Equal(got, want) {
				t.Errorf("a killed engine leaves\n%s\na killed run\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			t.Logf("left:\n%s", strings.Join(got, "\n"))
		})
	}
}

// strike kills a launcher and returns what it leaves.
func (p killPoint) strike(t *testing.T, start func(h *harness, id string, args []string) *launch) []string {
	t.Helper()
	h := newHarness(t)
	h.mustRun("ls") // makes the catalog
	before, id := h.traces(), h.id("run")
	l := start(h, id, flags("--input", h.write("flag", "", 0o644)+":/inputs/flag", "--", "sh", "-c", p.script))
	release := p.await(h, id)
	all := l.family()
	l.signal(syscall.SIGKILL)
	<-l.ended
	release()
	expectGone(t, all, id)
	after := h.traces()
	maps.DeleteFunc(after, func(name string, _ bool) bool { return before[name] })
	left := h.nameless(id, slices.Sorted(maps.Keys(after)))
	h.gc()
	h.show(id).expect(t, p.state, p.reason, map[string]int{"complete": 0, "lost": 125}[p.state])
	if all := strings.Fields(h.mustRun("ls", "--quiet").stdout); len(all) != 1 {
		t.Errorf("the catalog has %q", all)
	}
	h.touched(h.gc())
	return left
}

// drawn are the parts of names that are drawn for each run.
var drawn = regexp.MustCompile(`(ID(?:@1)?)-[A-Za-z0-9]+`)

// nameless are traces without the parts that differ between two runs.
func (h *harness) nameless(id string, traces []string) (all []string) {
	for _, trace := range traces {
		trace = strings.ReplaceAll(strings.ReplaceAll(trace, id, "ID"), filepath.Dir(h.root), "DIR")
		all = append(all, drawn.ReplaceAllString(trace, "$1-DRAWN"))
	}
	return all
}
