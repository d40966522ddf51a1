package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// served is an engine on pipes.
type served struct {
	*harness
	cmd    *exec.Cmd
	to     io.WriteCloser
	from   *bufio.Reader
	number int
	events map[string][]string // types by run
	logs   map[string]string   // by request and stream
}

// message is a line of an engine.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int
		Message string
		Data    struct{ Result json.RawMessage }
	} `json:"error"`
}

func (h *harness) serve(args ...string) *served {
	h.t.Helper()
	s := &served{harness: h, cmd: h.command(theHost.bin, append([]string{"serve", "--stdio"}, args...)...), events: map[string][]string{}, logs: map[string]string{}}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.to, err = s.cmd.StdinPipe(); err != nil {
		h.t.Fatal(err)
	}
	from, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	s.from = bufio.NewReader(from)
	return s
}

// write writes text as it is.
func (s *served) write(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.to, text); err != nil {
		s.t.Fatal(err)
	}
}

// send writes a request and returns its id.
func (s *served) send(method string, params map[string]any) string {
	s.t.Helper()
	s.number++
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": s.number, "method": method, "params": params})
	if err != nil {
		s.t.Fatal(err)
	}
	s.write(string(text) + "\n")
	return fmt.Sprint(s.number)
}

// next returns the next answer. It records the events before it, and checks all against the schemas.
func (s *served) next() message {
	s.t.Helper()
	for {
		line, err := s.from.ReadBytes('\n')
		if err != nil {
			s.t.Fatal(err)
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			s.t.Fatalf("%q: %v", line, err)
		}
		if err := validate("serve.json", line); err != nil {
			s.t.Errorf("%v in %s", err, line)
		}
		if m.Method == "log" {
			s.note(m.Params)
			continue
		}
		if m.Method != "event" {
			return m
		}
		var e struct{ ID, Type string }
		if err := json.Unmarshal(m.Params, &e); err != nil {
			s.t.Fatal(err)
		}
		s.events[e.ID] = append(s.events[e.ID], e.Type)
	}
}

// all returns so many answers by their ids.
func (s *served) all(n int) map[string]message {
	s.t.Helper()
	got := map[string]message{}
	for range n {
		m := s.next()
		got[string(m.ID)] = m
	}
	return got
}

// call sends a request and waits for the answer, while no other request is in progress.
func (s *served) call(method string, params map[string]any) message {
	s.t.Helper()
	id := s.send(method, params)
	m := s.next()
	if string(m.ID) != id {
		s.t.Fatalf("the answer to %s is to %s: %+v", id, m.ID, m)
	}
	return m
}

// result reads a result, as that of run --json is read.
func (s *served) result(m message) (r result) {
	s.t.Helper()
	text := m.Result
	if m.Error != nil {
		text = m.Error.Data.Result
	}
	if len(text) == 0 {
		s.t.Fatalf("no result: %+v", m.Error)
	}
	if err := r.read(text); err != nil {
		s.t.Error(err)
	}
	return r
}

// refused checks an error by its code and words of its sentence.
func (s *served) refused(m message, code int, words ...string) {
	s.t.Helper()
	if m.Error == nil || m.Error.Code != code {
		s.t.Errorf("%s %+v, want error %d with %q", m.Result, m.Error, code, words)
		return
	}
	for _, word := range words {
		if !strings.Contains(m.Error.Message, word) {
			s.t.Errorf("%q lacks %q", m.Error.Message, word)
		}
	}
}

// close ends the stream and waits for the exit code.
func (s *served) close(code int) {
	s.t.Helper()
	s.to.Close()
	s.ended(s.cmd, code)
}

// TestServe: a run through an engine ends as one of the command, with the same outputs, events and lists.
func TestServe(t *testing.T) {
	h := newHarness(t)
	script := h.write("fit.py", "open('fit.txt', 'w').write('4')\nprint('fitted')\n", 0o644)
	s := h.serve()
	for name, fields := range map[string]map[string]any{
		"complete":  {"command": []string{"sh", "-c", "echo a >a; mkfifo f; echo out; echo err >&2"}},
		"failed":    {"command": []string{"sh", "-c", "exit 3"}},
		"not-found": {"command": []string{"no-such-program"}},
		"timeout":   {"command": []string{"sleep", "60"}, "timeout": "1s"},
		"missing":   {"command": []string{"true"}, "outputs": []string{"*.csv"}},
		"script":    {"script": script, "labels": map[string]string{"a": "b"}},
	} {
		id := h.id(name)
		fields["id"], fields["events"] = id, true
		got := s.result(s.call("run", fields))
		delete(fields, "events")
		fields["id"] = id + "-alone"
		text, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		out := h.do("run", "--json", "--file", h.write(name+".json", string(text), 0o644))
		want, err := parseResult([]byte(out.stdout))
		if err != nil {
			t.Fatal(err)
		}
		same := func(r result) string {
			r.Sandbox.UIDOnHost = 0             // ids of its own
			signal, _ := json.Marshal(r.Signal) // a string or nil
			return fmt.Sprint(r.Attempt, r.State, r.Reason, r.Message, r.ExitCode, string(signal), len(r.Outputs), len(r.Rejected), r.Logs, r.Sandbox, r.Enforced)
		}
		if strings.ReplaceAll(same(got), id, "ID") != strings.ReplaceAll(same(want), id+"-alone", "ID") {
			t.Errorf("%s: %s\nwant %s", name, same(got), same(want))
		}
		if shown := s.result(s.call("show", map[string]any{"id": id})); same(shown) != same(got) {
			t.Errorf("%s is shown as %s", name, same(shown))
		}
		if types := strings.Join(s.events[id], " "); !strings.HasPrefix(types, "run.created ") || !strings.HasSuffix(types, " run.finished") {
			t.Errorf("%s: events %s", name, types)
		}
	}
	var all struct{ Runs []struct{ ID string } }
	if err := json.Unmarshal(s.call("list", map[string]any{"labels": map[string]string{"a": "b"}, "states": []string{"complete"}}).Result, &all); err != nil || len(all.Runs) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	s.close(0)
}

// TestServeRefuses: each error names what is wrong, and the connection goes on.
func TestServeRefuses(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	done := h.id("done")
	s.call("run", map[string]any{"id": done, "command": []string{"true"}})
	for _, c := range []struct {
		method string
		params map[string]any
		code   int
		words  []string
	}{
		{"runn", nil, -32601, []string{`"runn"`, `did you mean "run"?`}},
		{"run", map[string]any{}, -32602, []string{"command"}},
		{"run", map[string]any{"command": []string{"true"}, "memroy": "1GiB"}, -32602, []string{`"memroy"`, `"memory"`}},
		{"run", map[string]any{"command": []string{"true"}, "memory": "much"}, -32602, []string{"memory", `"much"`}},
		{"run", map[string]any{"command": []string{"true"}, "id": "../x"}, -32602, []string{"id", "../x"}},
		{"run", map[string]any{"command": []string{"true"}, "events": 1}, -32602, []string{"events"}},
		{"run", map[string]any{"command": []string{"true"}, "data": "nowhere"}, -32602, []string{"nowhere"}},
		{"run", map[string]any{"command": []string{"true"}, "id": done}, -32602, []string{done, "complete"}},
		{"submit", map[string]any{"script": "nowhere.py"}, -32602, []string{"nowhere.py"}},
		{"wait", map[string]any{"id": "nothing"}, -32001, []string{`"nothing"`}},
		{"wait", map[string]any{}, -32602, []string{"id is missing"}},
		{"stop", map[string]any{"id": done}, -32000, []string{done, "ended already"}},
		{"show", map[string]any{"id": 1}, -32602, []string{"id: give a string"}},
		{"list", map[string]any{"limit": 0}, -32602, []string{"limit 0"}},
		{"list", map[string]any{"states": []string{"fine"}}, -32602, []string{"states", `"fine"`}},
		{"cancel", map[string]any{}, -32602, []string{"id is missing"}},
	} {
		s.refused(s.call(c.method, c.params), c.code, c.words...)
	}
	for _, line := range []string{`[{"jsonrpc": "2.0", "id": 1, "method": "list"}]`, `{"jsonrpc"`, strings.Repeat("x", 3<<20)} {
		s.write(line + "\n")
		if m := s.next(); m.Error == nil || string(m.ID) != "null" {
			t.Errorf("%.40s: %+v", line, m)
		}
	}
	s.result(s.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	s.close(0)
	h.mustRefuse([]string{"serve"}, "--stdio")
	h.mustRefuse([]string{"serve", "--stdio", "--id", "a"}, "--id", "request")
}

// stays is a run that prints when it is ready, and goes on.
func (s *served) stays(id string, more map[string]any) map[string]any {
	fields := map[string]any{"id": id, "command": []string{"sh", "-c", "echo ready; exec sleep 600"}}
	for name, value := range more {
		fields[name] = value
	}
	return fields
}

// TestServeEndOfFile: end of file stops running requests and cancels waiting ones; a detached run goes on.
func TestServeEndOfFile(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=2")
	f := h.flag()
	runs, waits, detached := h.id("runs"), h.id("waits"), h.id("detached")
	first := s.send("run", s.stays(runs, nil))
	s.call("submit", map[string]any{"id": detached, "detached": true, "inputs": []string{f.input()}, "command": []string{"sh", "-c", "echo ready; " + awaited}})
	third := s.send("run", map[string]any{"id": waits, "command": []string{"true"}})
	h.logged(runs, "ready")
	h.logged(detached, "ready")
	s.write(`{"half`)
	s.to.Close()
	got := s.all(3)
	s.result(got[first]).expect(t, "canceled", "stopped", 129)
	s.refused(got[third], -32800, "end of its caller")
	if got["null"].Error == nil {
		t.Errorf("the half line: %+v", got)
	}
	f.raise()
	s.ended(s.cmd, 0)
	h.show(detached).expect(t, "complete", "exit", 0)
	h.mustRefuse([]string{"show", waits}, waits)
}

// TestServeDrains: SIGTERM lets running requests end and accepts no new ones; the second one stops them.
func TestServeDrains(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=2")
	f := h.flag()
	ends, stays := h.id("ends"), h.id("stays")
	first := s.send("run", map[string]any{"id": ends, "inputs": []string{f.input()}, "command": []string{"sh", "-c", "echo ready; " + awaited}})
	second := s.send("run", s.stays(stays, nil))
	h.logged(ends, "ready")
	h.logged(stays, "ready")
	third := s.send("run", map[string]any{"id": h.id("waits"), "command": []string{"true"}})
	until(t, hangTimeout, "the third one waits", func() bool {
		m := s.call("show", map[string]any{"id": h.id("waits")})
		return m.Error == nil && s.result(m).State == "queued"
	})
	for _, method := range []string{"logs", "outputs", "read", "export"} {
		params := map[string]any{"id": h.id("waits"), "path": "x", "directory": h.path("waits")}
		maps.DeleteFunc(params, func(name string, _ any) bool {
			return name == "path" && method != "read" || name == "directory" && method != "export"
		})
		s.refused(s.call(method, params), -32001, "is queued; it has logs and outputs when its turn has come")
	}
	h.tell(s.cmd, syscall.SIGTERM)
	if m := s.next(); string(m.ID) != third {
		t.Errorf("%+v", m)
	} else {
		s.refused(m, -32800, "end of the engine")
	}
	s.refused(s.call("logs", map[string]any{"id": h.id("waits")}), -32001, "did not start, and has no logs and outputs: ")
	s.refused(s.call("run", map[string]any{"command": []string{"true"}}), -32003, "no new runs")
	f.raise()
	m := s.next()
	if string(m.ID) != first {
		t.Errorf("%+v", m)
	}
	s.result(m).expect(t, "complete", "exit", 0)
	h.tell(s.cmd, syscall.SIGTERM)
	if m = s.next(); string(m.ID) != second {
		t.Errorf("%+v", m)
	}
	s.result(m).expect(t, "canceled", "stopped", 143)
	s.ended(s.cmd, 0) // without end-of-file
	s.to.Close()
}

// TestServeStops: only one run is stopped by the method, by the command, and by the end of its request.
func TestServeStops(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=3")
	here, outside, canceled, other := h.id("here"), h.id("outside"), h.id("canceled"), h.id("other")
	s.call("submit", s.stays(here, nil))
	s.call("submit", s.stays(outside, nil))
	request := s.send("run", s.stays(canceled, nil))
	h.detach(other, "--", "sh", "-c", "echo ready; exec sleep 600")
	for _, id := range []string{here, outside, canceled, other} {
		h.logged(id, "ready")
	}
	s.result(s.call("stop", map[string]any{"id": here})).expect(t, "canceled", "stopped", 143)
	h.mustRun("stop", outside)
	s.result(s.call("wait", map[string]any{"id": outside})).expect(t, "canceled", "stopped", 143)
	if r := s.result(s.call("show", map[string]any{"id": canceled})); r.State != "running" {
		t.Errorf("%s is %s", r.ID, r.State)
	}
	s.send("cancel", map[string]any{"id": json.RawMessage(request)})
	s.result(s.all(2)[request]).expect(t, "canceled", "stopped", 143)
	s.result(s.call("stop", map[string]any{"id": other, "now": true})).expect(t, "canceled", "stopped", 143)
	s.result(s.call("run", map[string]any{"command": []string{"true"}})).expect(t, "complete", "exit", 0)
	s.close(0)
}

// TestServeKilled: SIGKILL leaves the same as for a run, and gc removes it.
func TestServeKilled(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=2")
	ids := []string{h.id("one"), h.id("two")}
	for _, id := range ids {
		s.call("submit", s.stays(id, nil))
	}
	for _, id := range ids {
		h.logged(id, "ready")
		until(t, hangTimeout, "the row names the directory", func() bool { return h.placed(id) })
	}
	h.tell(s.cmd, syscall.SIGKILL)
	_ = s.cmd.Wait() // it was killed
	until(t, hangTimeout, "its processes end", func() bool { return len(with(h.run)) == 0 })
	if c := h.gc(); len(c.Lost) != len(ids) {
		t.Errorf("gc marked %v lost, want %q", c.Lost, ids)
	}
	for _, id := range ids {
		h.show(id).expect(t, "lost", "supervisor_lost", 125)
	}
	h.collectUntilNothingIsLeft()
}

// TestServeReaderStops: a caller that floods and does not read holds no other caller's runs up, and ends with its stream.
func TestServeReaderStops(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=4")
	noise := `i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo "$i 0123456789012345678901234567890123456789012345678901234567890123456789"; done`
	const runs = 40
	for i := range runs {
		s.send("run", map[string]any{"id": h.id(fmt.Sprint("n", i)), "events": true, "command": []string{"sh", "-c", noise}})
	}
	until(t, hangTimeout, "all are in the catalog", func() bool {
		found := 0
		for i := range runs {
			if h.do("show", h.id(fmt.Sprint("n", i)), "--json").code == 0 {
				found++
			}
		}
		return found == runs
	})
	for id, m := range s.all(runs) {
		if r := s.result(m); r.State != "complete" {
			t.Errorf("%s: %+v", id, r)
		}
	}
	s.close(0)
}

// TestServeLeavesNothing: after many requests an engine has no more descriptors than before.
func TestServeLeavesNothing(t *testing.T) {
	h := newHarness(t)
	s := h.serve("--jobs=4")
	round := func(n int) {
		for range n {
			s.send("run", map[string]any{"command": []string{"true"}, "id": h.newID()})
		}
		for _, m := range s.all(n) {
			s.result(m).expect(t, "complete", "exit", 0)
		}
	}
	open := func() (names []string) {
		dir := filepath.Join("/proc", fmt.Sprint(s.cmd.Process.Pid), "fd")
		all, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range all {
			name, err := os.Readlink(filepath.Join(dir, one.Name()))
			if err == nil && !strings.Contains(name, "catalog.db") { // SQLite keeps some for the next connection
				names = append(names, name)
			}
		}
		return names
	}
	round(10)
	before := open()
	round(60)
	until(t, hangTimeout/2, fmt.Sprintf("as many are open as before: %q", before), func() bool { return len(open()) <= len(before) })
	s.close(0)
}

// note adds a part of a log, which must follow the parts before it.
func (s *served) note(params json.RawMessage) {
	s.t.Helper()
	var part struct {
		Request json.RawMessage
		Stream  string
		Offset  int
		Text    string
		Base64  []byte
	}
	if err := json.Unmarshal(params, &part); err != nil {
		s.t.Fatal(err)
	}
	name := string(part.Request) + " " + part.Stream
	if part.Offset != len(s.logs[name]) {
		s.t.Fatalf("%s: a part at %d after %d bytes", name, part.Offset, len(s.logs[name]))
	}
	s.logs[name] += part.Text + string(part.Base64)
}

// TestServeLogs: the logs of a run arrive whole, live and afterwards, also if the caller does not read for a time.
func TestServeLogs(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	f, id := h.flag(), h.id("writes")
	s.call("submit", map[string]any{
		"id": id, "inputs": []string{f.input()},
		"command": []string{"sh", "-c", "seq 400000; printf '\\377' >&2; echo ready; " + awaited + "; echo last"},
	})
	h.logged(id, "ready")
	live := s.send("logs", map[string]any{"id": id, "follow": true})
	so := s.call2("logs", map[string]any{"id": id, "streams": []string{"stderr"}}, live)
	if got := s.logs[string(so.ID)+" stderr"]; got != "\xff" || s.logs[string(so.ID)+" stdout"] != "" {
		t.Errorf("%q", got)
	}
	f.raise()
	m := s.next()
	var ended struct{ State string }
	if err := json.Unmarshal(m.Result, &ended); err != nil || string(m.ID) != live || ended.State != "complete" {
		t.Errorf("%+v, %v", m, err)
	}
	later := s.call("logs", map[string]any{"id": id})
	want := h.mustRun("logs", id, "--stdout").stdout
	for _, request := range []string{live, string(later.ID)} {
		if got := s.logs[request+" stdout"]; got != want || !strings.HasSuffix(got, "\nlast\n") {
			t.Errorf("request %s: %d bytes, want %d", request, len(got), len(want))
		}
	}
	s.refused(s.call("logs", map[string]any{"id": id, "streams": []string{"out"}}), -32602, "streams", `"out"`)
	s.refused(s.call("logs", map[string]any{"id": "nothing"}), -32001, `"nothing"`)
	s.close(0)
}

// call2 is call while another request is in progress, which does not end before.
func (s *served) call2(method string, params map[string]any, other string) message {
	s.t.Helper()
	m := s.call(method, params)
	if string(m.ID) == other {
		s.t.Fatalf("%s has ended: %+v", other, m)
	}
	return m
}

// TestServeOutputs lists outputs, reads one in pieces, and exports them.
func TestServeOutputs(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	id := h.id("writes")
	s.result(s.call("run", map[string]any{"id": id, "command": []string{"sh", "-c", "seq 300000 >numbers; mkfifo pipe; echo a >a; : >empty"}})).expect(t, "complete", "exit", 0)
	var paths []string
	for from := 0; ; {
		var page struct {
			Entries []struct{ Path, Verdict string }
			Next    int
		}
		if err := json.Unmarshal(s.call("outputs", map[string]any{"id": id, "limit": 3, "from": from}).Result, &page); err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Entries {
			paths = append(paths, e.Path+" "+e.Verdict)
		}
		if from = page.Next; from == 0 {
			break
		}
	}
	if got := strings.Join(paths, ", "); got != "a output, empty output, numbers output, pipe rejected" {
		t.Error(got)
	}
	read := func(path string, offset, length int) (text string, size int) {
		var piece struct {
			Base64 []byte
			Size   int
		}
		if err := json.Unmarshal(s.call("read", map[string]any{"id": id, "path": path, "offset": offset, "length": length}).Result, &piece); err != nil {
			t.Fatal(err)
		}
		return string(piece.Base64), piece.Size
	}
	want := h.mustRun("outputs", "cat", id, "numbers").stdout
	got := ""
	for size := 1; len(got) < size; {
		var piece string
		piece, size = read("numbers", len(got), 500_000)
		got += piece
	}
	if got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if piece, _ := read("numbers", 100, 7); piece != want[100:107] {
		t.Errorf("%q, want %q", piece, want[100:107])
	}
	if piece, size := read("numbers", 1<<40, 1); piece != "" || size != len(want) {
		t.Errorf("behind the end: %q of %d", piece, size)
	}
	if piece, size := read("empty", 0, 1); piece != "" || size != 0 {
		t.Errorf("of nothing: %q of %d", piece, size)
	}
	s.refused(s.call("read", map[string]any{"id": id, "path": "pipe"}), -32001, "path", `"pipe"`)
	s.refused(s.call("read", map[string]any{"id": id, "path": "a", "length": 1 << 20}), -32602, "length 1048576")
	if m := s.call("export", map[string]any{"id": id, "directory": "out"}); m.Error != nil || readFile(t, h.path("out/a")) != "a\n" {
		t.Errorf("%+v", m.Error)
	}
	s.refused(s.call("export", map[string]any{"id": id, "directory": "out"}), -32000, "out")
	s.refused(s.call("export", map[string]any{"id": id}), -32602, "directory is missing")
	s.close(0)
}

// TestServeDoctor: the report is that of the command.
func TestServeDoctor(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	if m := s.call("doctor", nil); m.Error != nil || validate("doctor.json", m.Result) != nil {
		t.Errorf("%s %+v %v", m.Result, m.Error, validate("doctor.json", m.Result))
	}
	s.refused(s.call("doctor", map[string]any{"all": true}), -32602, `"all"`)
	s.close(0)
}

// TestServeRecoversKilledRuns: a running engine recovers runs of killed launchers, without another command.
func TestServeRecoversKilledRuns(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	id := h.id("killed")
	cmd := h.command(theHost.bin, "run", "--id", id, "--", "sh", "-c", "echo ready; exec sleep 600")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	h.logged(id, "ready")
	until(t, hangTimeout, "the row names the directory", func() bool { return h.placed(id) })
	h.tell(cmd, syscall.SIGKILL)
	_ = cmd.Wait() // it was killed
	until(t, hangTimeout, "the run is marked lost", func() bool {
		return s.result(s.call("show", map[string]any{"id": id})).State == "lost" && !exists(filepath.Join(h.root, "runs", id+"@1.json"))
	})
	s.close(0)
}

// collectUntilNothingIsLeft runs gc until the supervisors that were killed with their launcher have released the ingest
// directories.
func (h *harness) collectUntilNothingIsLeft() {
	h.t.Helper()
	until(h.t, hangTimeout, "nothing is left", func() bool {
		h.mustRun("gc")
		return len(leftovers(h.run, h.root)) == 0
	})
}
