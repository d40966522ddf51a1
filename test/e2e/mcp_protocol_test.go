package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestMCPDocumented: a server answers as in the exchange of docs/mcp.md.
func TestMCPDocumented(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, "--root", h.root, "mcp")
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	from, answers := bufio.NewReader(stdout), 0
	for line := range strings.Lines(readFile(t, "../../docs/mcp.md")) {
		if request, ok := strings.CutPrefix(line, "→ "); ok {
			if _, err := io.WriteString(to, request); err != nil {
				t.Fatal(err)
			}
		}
		documented, ok := strings.CutPrefix(line, "← ")
		if !ok {
			continue
		}
		want := decoded(t, []byte(documented))
		for {
			got, err := from.ReadBytes('\n')
			if err != nil {
				t.Fatalf("no more answers than %d: %v; want %s", answers, err, documented)
			}
			if answers++; contained(want, decoded(t, got)) {
				break
			}
			if !bytes.Contains(got, []byte("notifications/progress")) {
				t.Fatalf("got %s\nwant %s", got, documented)
			}
		}
	}
	to.Close()
	if answers < 4 {
		t.Errorf("%d answers", answers)
	}
	h.ended(cmd, 0)
}

func decoded(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// contained reports whether a value has all of what is documented. Strings may be shortened by "…".
func contained(want, got any) bool {
	switch want := want.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		for key, value := range want {
			ok = ok && contained(value, object[key])
		}
		return ok
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(want, list, contained)
	case string:
		text, ok := got.(string)
		start, short := strings.CutSuffix(want, "…")
		return ok && (text == want || short && strings.HasPrefix(text, start))
	}
	return want == got
}

// TestMCPHostile: invalid messages are answered with an error, and end neither the server nor its runs.
func TestMCPHostile(t *testing.T) {
	h := newHarness(t)
	cmd := h.command(theHost.bin, "--root", h.root, "mcp")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(stdout)
	expect := func(line, want string) {
		t.Helper()
		if _, err := io.WriteString(to, line+"\n"); err != nil {
			t.Fatal(err)
		}
		for want != "" {
			got, err := from.ReadString('\n')
			if err != nil {
				t.Fatalf("after %.60q: %v", line, err)
			}
			if strings.Contains(got, want) {
				return
			}
			if !strings.Contains(got, "notifications/progress") {
				t.Fatalf("after %.60q: %.300s, want %s", line, got, want)
			}
		}
	}
	expect(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`, `"serverInfo"`)
	expect(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "")
	expect(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_code","arguments":{"command":["sleep","1000"]}}}`, "")
	until(t, hangTimeout, "the run starts", func() bool { return strings.Contains(h.do("ls", "--state", "running", "--json").stdout, `"running"`) })
	for line, code := range map[string]int{
		"hello": -32700, "[]": -32600, "null": -32600, "1": -32600, "\xff": -32700, strings.Repeat("[", 1<<20): -32700,
		`{"jsonrpc":"2.0","id":3,"method":"` + strings.Repeat("x", 20<<20) + `"}`: -32700,
		`{"jsonrpc":"1.0","id":3,"method":"ping"}`:                                -32600,
	} {
		expect(line, fmt.Sprintf(`"error":{"code":%d,`, code))
		expect(`{"jsonrpc":"2.0","id":4,"method":"ping"}`, `"id":4,"result":{}`)
	}
	if all := h.do("ls", "--json").stdout; !strings.Contains(all, `"running"`) {
		t.Errorf("the run is %s", all)
	}
	to.Close()
	h.ended(cmd, 0)
	if stderr.String() != "" {
		t.Errorf("it said %.2000q", stderr.String())
	}
	if all := h.do("ls", "--json").stdout; !strings.Contains(all, `"canceled"`) || strings.Contains(all, `"running"`) {
		t.Errorf("the run is %s", all)
	}
	h.collectUntilNothingIsLeft()
}

// web is a server over HTTP.
type web struct {
	*harness
	cmd *exec.Cmd
	url string
	key string
}

func (h *harness) web(flags ...string) *web {
	h.t.Helper()
	w := &web{harness: h, cmd: h.command(theHost.bin, append([]string{"--root", h.root, "mcp", "--http", "127.0.0.1:0"}, flags...)...)}
	stderr, err := w.cmd.StderrPipe()
	if err == nil {
		err = w.cmd.Start()
	}
	if err != nil {
		h.t.Fatal(err)
	}
	lines := bufio.NewScanner(stderr)
	for w.url == "" && lines.Scan() {
		if _, url, ok := strings.Cut(lines.Text(), "mcp listens on "); ok {
			w.url = url
		}
	}
	if len(flags) == 0 && lines.Scan() {
		_, w.key, _ = strings.Cut(lines.Text(), "its key is ")
	}
	go io.Copy(io.Discard, stderr) //nolint:errcheck // until its end
	return w
}

// RoundTrip sends a request with the key.
func (w *web) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+w.key)
	return http.DefaultTransport.RoundTrip(r)
}

// agent connects a client.
func (w *web) agent() *agent {
	w.t.Helper()
	a := &agent{harness: w.harness, tmp: "/tmp/scidex-oci-mcp"}
	a.connect(&mcp.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: w}, MaxRetries: -1})
	return a
}

// post sends the first message of a client, and returns the status.
func (w *web) post(header http.Header, host string, body io.Reader) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodPost, w.url, body)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if host != "" {
		r.Host = host
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK && bytes.Contains(text, []byte(w.key)) {
		w.t.Errorf("the key is in %q", text)
	}
	return response.StatusCode
}

// TestMCPOverHTTP: with the key everything works as on pipes; without it, or from another host, nothing does.
func TestMCPOverHTTP(t *testing.T) {
	h := newHarness(t)
	w := h.web("--key-file", "key")
	w.key = strings.TrimSpace(readFile(t, h.path("key")))
	a := w.agent()
	if got, contents := a.tool("run_code", args{"code": "print(6 * 7)\nopen('a.txt', 'w').write('a')"}); got.Stdout.Text != "42\n" || len(contents) != 2 {
		t.Errorf("%+v", got)
	}
	if told := a.progress["run_code"]; len(told) < 4 {
		t.Errorf("progress %q", told)
	}
	const first = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"e","version":"1"}}}`
	right := http.Header{"Authorization": {"Bearer " + w.key}}
	with := func(name, value string) http.Header {
		header := right.Clone()
		header.Set(name, value)
		return header
	}
	for name, test := range map[string]struct {
		header http.Header
		host   string
		want   int
	}{
		"right":     {right.Clone(), "", 200},
		"no key":    {http.Header{}, "", 401},
		"wrong key": {with("Authorization", "Bearer "+w.key+"x"), "", 401},
		"page":      {with("Origin", "https://example.org"), "", 403},
		"rebound":   {right.Clone(), "example.org", 403},
	} {
		if got := w.post(test.header, test.host, strings.NewReader(first)); got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
	if got := w.post(right.Clone(), "", io.LimitReader(zeros{}, 17<<20)); got != http.StatusRequestEntityTooLarge {
		t.Errorf("17 MiB: %d", got)
	}
	w.cancels()
	h.tell(w.cmd, syscall.SIGTERM)
	h.ended(w.cmd, 0)
}

// cancels checks that a canceled call and the end of a client cancel their runs, also one that no call waits for.
func (w *web) cancels() {
	w.t.Helper()
	looks := w.agent()
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(w.t.Context())
	id := w.agent().started(ctx, ended)
	cancel()
	if err := <-ended; err == nil {
		w.t.Error("a canceled call was answered")
	}
	looks.canceled(id)
	gone := w.agent()
	id = gone.started(w.t.Context(), ended)
	if got := w.delete(gone.ID()); got != http.StatusNoContent {
		w.t.Errorf("the end of a session: %d", got)
	}
	looks.canceled(id)
	gone = w.agent()
	left, _ := gone.tool("run_code", args{"command": []string{"sleep", "600"}, "wait": 0})
	if got, _ := looks.tool("wait_run", args{"run": left.ID, "wait": 0}); got.State != "queued" && got.State != "running" {
		w.t.Errorf("%+v", got)
	}
	if got := w.delete(gone.ID()); got != http.StatusNoContent {
		w.t.Errorf("the end of a session: %d", got)
	}
	looks.canceled(left.ID)
}

// canceled waits until a run is canceled.
func (a *agent) canceled(id string) {
	a.t.Helper()
	until(a.t, hangTimeout, "run "+id+" is canceled", func() bool {
		got, _ := a.tool("get_run", args{"run": id})
		return got.State == "canceled"
	})
}

// delete ends a session, and returns the status.
func (w *web) delete(session string) int {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), http.MethodDelete, w.url, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Mcp-Session-Id", session)
	response, err := w.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// TestMCPKey: without a file the key is printed; one that others can read is refused.
func TestMCPKey(t *testing.T) {
	h := newHarness(t)
	w := h.web()
	if len(w.key) < 16 {
		t.Fatalf("key %q", w.key)
	}
	if got, _ := w.agent().tool("list_runs", args{}); len(got.Runs) != 0 {
		t.Errorf("%+v", got)
	}
	h.tell(w.cmd, syscall.SIGTERM)
	h.ended(w.cmd, 0)
	h.write("open", strings.Repeat("k", 20), 0o644)
	h.mustRefuse([]string{"mcp", "--http", "127.0.0.1:0", "--key-file", "open"}, "--key-file", "chmod 600")
}

// TestMCPDrainsWaits: waits for a run of another process are bounded, and SIGTERM ends them.
func TestMCPDrainsWaits(t *testing.T) {
	h := newHarness(t)
	s := h.serve()
	other := h.id("other")
	s.send("run", s.stays(other, nil))
	h.logged(other, "ready")
	cmd := h.command(theHost.bin, "--root", h.root, "mcp")
	cmd.Stderr = os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err == nil {
		_, err = fmt.Fprintf(to, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"wait_run","arguments":{"run":%q,"wait":3600}}}
`, other)
	}
	for id := 100; err == nil && id < 164; id++ { // one too many with that above
		_, err = fmt.Fprintf(to, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait_run","arguments":{"run":%q,"wait":3600}}}`+"\n", id, other)
	}
	if err != nil {
		t.Fatal(err)
	}
	from := bufio.NewReader(stdout)
	for answer := ""; !strings.Contains(answer, "64 calls wait"); { // then all have been read
		if answer, err = from.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	h.tell(cmd, syscall.SIGTERM)
	if rest, err := io.ReadAll(from); err != nil || strings.Count(string(rest), `"state":"running"`) != 64 {
		t.Errorf("%s, %v", rest, err)
	}
	h.ended(cmd, 0) // without end-of-file
	s.close(0)
}

// TestMCPDrains: SIGTERM lets a call end, and no new run is accepted.
func TestMCPDrains(t *testing.T) {
	h := newHarness(t)
	a := h.agent("--jobs", "2")
	ended := make(chan error, 1)
	a.started(t.Context(), ended)
	pid := a.cmd.Process.Pid
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	until(t, hangTimeout, "no run is taken", func() bool {
		r, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_code", Arguments: args{"command": []string{"true"}}})
		return err == nil && r.IsError && strings.Contains(fmt.Sprint(r.Content[0].(*mcp.TextContent).Text), "takes no new runs")
	})
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("a run that was stopped is not answered: %v", err)
	}
	h.ended(a.cmd, 0) // without end-of-file
}
