package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// hostile are lines that are no message, and the id and code of their answers.
var hostile = map[string]string{
	"hello":   "null -32700",
	"{":       "null -32700",
	"{} {}":   "null -32700",
	"\xff":    "null -32700",
	"[]":      "null -32600",
	"null":    "null -32600",
	"1":       "null -32600",
	`"x"`:     "null -32600",
	"{}":      "null -32600",
	"[{},{}]": "null -32600",
	`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`:                                                                   "null -32600",
	strings.Repeat("[", 1<<20):                                                                                     "null -32700",
	`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", mostMessage) + `"}`:                                 "null -32700",
	"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}":                                                    "null -32700",
	strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, 2):                                                  "null -32700",
	`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat("[", 2000) + strings.Repeat("]", 2000) + "}": "1 -32600",
	`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                                                                     "1 -32600",
	`{"jsonrpc":"2.0","id":"a"}`:                                                                                   `"a" -32600`,
	`{"jsonrpc":"2.0","id":1,"method":2}`:                                                                          "1 -32600",
	`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                                                                  "null -32600",
	`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`:                                                                   "null -32600",
	`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                                                                    "null -32600",
	`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`:                                                      "null -32600",
	`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 300) + `","method":"ping"}`:                                    "null -32600",
}

// answer is a line of the server.
type answer struct {
	ID    json.RawMessage
	Error *struct{ Code int }
}

func (a answer) String() string {
	if a.Error == nil {
		return fmt.Sprintf("%s ok", a.ID)
	}
	return fmt.Sprintf("%s %d", a.ID, a.Error.Code)
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	ping        = `{"jsonrpc":"2.0","id":"next","method":"ping"}`
)

// waiting is a server whose tool ends when its call is canceled, which it tells.
func waiting() (s *mcp.Server, started, canceled chan struct{}) {
	s = mcp.NewServer(&mcp.Implementation{Name: "x", Version: "1"}, nil)
	started, canceled = make(chan struct{}), make(chan struct{})
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		close(started)
		<-ctx.Done()
		close(canceled)
		return nil, nil, ctx.Err()
	})
	return s, started, canceled
}

// TestHostileLines: each is answered, and neither ends the server nor a call in progress.
func TestHostileLines(t *testing.T) {
	from, send := io.Pipe()
	read, to := io.Pipe()
	s, started, canceled := waiting()
	p := newPipes(from, to)
	served := make(chan error, 1)
	go func() { served <- s.Run(t.Context(), p); to.Close() }()
	lines := bufio.NewReader(read)
	expect := func(line, want string) {
		t.Helper()
		if _, err := io.WriteString(send, line+"\n"); err != nil {
			t.Fatalf("%.60q: %v", line, err)
		}
		if want == "" {
			return
		}
		text, err := lines.ReadBytes('\n')
		var got answer
		if err == nil {
			err = json.Unmarshal(text, &got)
		}
		if err != nil {
			t.Fatalf("after %.60q: %v", line, err)
		}
		if got.String() != want {
			t.Errorf("%.60q: %s, want %s", line, got, want)
		}
	}
	expect(initialize, `"first" ok`)
	expect(initialized, "")
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait","arguments":{}}}`
	expect(call, "")
	<-started
	for line, want := range hostile {
		expect(line, want)
		expect("\n \r\n"+ping+"\r", `"next" ok`)
	}
	expect(call, "null -32600") // its id is in use
	expect(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}`, "")
	expect(`{"jsonrpc":"2.0","id":99,"result":{}}`, "")
	expect(ping, `"next" ok`)
	select {
	case <-canceled:
		t.Fatal("the call was canceled")
	default:
	}
	if _, err := io.WriteString(send, ping); err != nil { // half a line
		t.Fatal(err)
	}
	send.Close()
	rest, err := io.ReadAll(lines)
	<-canceled
	if err != nil || !strings.Contains(string(rest), `-32700`) {
		t.Errorf("half a line: %q, %v", rest, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// TestClientReadsNoMore: a client that has closed its end ends the connection also when a bad line is answered.
func TestClientReadsNoMore(t *testing.T) {
	from, send := io.Pipe()
	read, to := io.Pipe()
	s, _, _ := waiting()
	served := make(chan error, 1)
	go func() { served <- s.Run(t.Context(), newPipes(from, to)) }()
	read.Close()
	if _, err := io.WriteString(send, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err == nil {
		t.Error("no error")
	}
	send.Close()
}

// TestHostileBodies: over HTTP each gets status 400 with the same answer, and its session goes on.
func TestHostileBodies(t *testing.T) {
	s, _, _ := waiting()
	server := httptest.NewServer(checked(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)))
	defer server.Close()
	session := ""
	post := func(body string) (int, string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if session != "" {
			r.Header["Mcp-Session-Id"] = []string{session}
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		session = response.Header.Get("Mcp-Session-Id") + session
		return response.StatusCode, string(text)
	}
	if status, text := post(initialize); status != http.StatusOK || session == "" {
		t.Fatalf("%d %s", status, text)
	}
	id := session
	for body, want := range hostile {
		session = id
		if len(body) > mostMessage {
			continue // access refuses it before
		}
		status, text := post(body)
		var got answer
		if err := json.Unmarshal([]byte(text), &got); status != http.StatusBadRequest || err != nil || got.String() != want {
			t.Errorf("%.60q: %d %s, want %s", body, status, text, want)
		}
		session = id
		if status, text := post(ping); status != http.StatusOK || !strings.Contains(text, `"result":{}`) {
			t.Errorf("after %.60q: %d %s", body, status, text)
		}
	}
}

// FuzzParse: what is taken is what the library reads, and everything else has an error but for responses.
func FuzzParse(f *testing.F) {
	for line := range hostile {
		if len(line) < 1<<12 {
			f.Add([]byte(line))
		}
	}
	f.Add([]byte(initialize))
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		message, id, bad := parse(line)
		if bad != nil && (message != nil || bad.Code != -32700 && bad.Code != -32600) {
			t.Errorf("%v, %v", message, bad)
		}
		if id != nil && (!json.Valid(id) || !validID(id)) {
			t.Errorf("id %s", id)
		}
	})
}
