package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long the browser may take for one step.
const patience = 2 * time.Minute

// TestBrowser opens a page with each hostile output in Chromium, which reports by its protocol what it loads and
// executes: nothing. Then it opens each image that was embedded by itself, as a reader may. scripts/test browser has
// the browser.
func TestBrowser(t *testing.T) {
	b := newBrowser(t)
	s := newShelf(t)
	run, dir := hostileRun(t, s), t.TempDir()
	list := hostiles(t)
	t.Logf("%s, %d hostile outputs", b.version(), len(list))
	for i, h := range list {
		path := filepath.Join(dir, fmt.Sprintf("%d.html", i))
		must(t, os.WriteFile(path, rendered(t, withOutputs(t, run, s, h), s), 0o600))
		if seen := b.open("file://" + path); len(seen) > 0 {
			t.Errorf("%q: the page did %q", h.name, seen)
		}
		for _, image := range b.images() {
			if h.shown == "img" && image.Width == 0 {
				t.Errorf("%q is not drawn", h.name)
			}
			if seen := b.open(image.Source); len(seen) > 0 {
				t.Errorf("%q: opened by itself it did %q", h.name, seen)
			}
		}
	}
}

// TestBrowserSees: files that load or execute something when they are opened without a page are noticed. Otherwise
// TestBrowser would prove nothing.
func TestBrowserSees(t *testing.T) {
	b := newBrowser(t)
	dir := t.TempDir()
	harmful := []string{"script.svg", "script-prefix.svg", "script-html.svg", "foreign.svg", "root-onload.svg", "image-away.svg", "import.svg", "css-url.svg", "css-escape.svg", "sheet.svg", "page.html"}
	for _, h := range hostiles(t) {
		if !slices.Contains(harmful, h.name) {
			continue
		}
		harmful = slices.DeleteFunc(harmful, func(name string) bool { return name == h.name })
		path := filepath.Join(dir, h.name)
		must(t, os.WriteFile(path, []byte(h.content), 0o600))
		if seen := b.open("file://" + path); len(seen) == 0 {
			t.Errorf("%s did nothing that was seen", h.name)
		}
	}
	if len(harmful) > 0 {
		t.Errorf("there is no %q", harmful)
	}
}

// browser is a Chromium without a window, spoken to over a pair of pipes
// (https://chromedevtools.github.io/devtools-protocol, --remote-debugging-pipe).
type browser struct {
	t       *testing.T
	to      io.Writer
	from    chan message
	last    int    // number of a request
	session string // of the one tab
	page    string // that is open
	seen    []string
}

type message struct {
	ID     int             `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`

	Session string `json:"sessionId,omitempty"`
}

func newBrowser(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("SCIDEX_OCI_BROWSER")
	if program == "" {
		t.Skip("SCIDEX_OCI_BROWSER names no Chromium: scripts/test browser runs this")
	}
	theirs, to, err := os.Pipe()
	must(t, err)
	from, answers, err := os.Pipe()
	must(t, err)
	// Names are not resolved: requests of a hostile output are seen, and go nowhere.
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", //nolint:gosec // the caller's
		"--host-resolver-rules=MAP * ~NOTFOUND", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe", "about:blank")
	cmd.ExtraFiles = []*os.File{theirs, answers}
	must(t, cmd.Start())
	must(t, errors.Join(theirs.Close(), answers.Close()))
	b := &browser{t: t, to: to, from: make(chan message, 1000)}
	go b.read(from)
	t.Cleanup(func() {
		b.call("", "Browser.close", nil)
		_ = cmd.Wait() // it is gone then
		must(t, errors.Join(to.Close(), from.Close()))
	})
	b.attach()
	return b
}

// read takes the browser's messages, until it is gone.
func (b *browser) read(from io.Reader) {
	defer close(b.from)
	r := bufio.NewReader(from)
	for {
		raw, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(bytes.TrimSuffix(raw, []byte{0}), &m) == nil {
			b.from <- m
		}
	}
}

// attach opens the tab and subscribes to its events.
func (b *browser) attach() {
	var tab struct{ TargetID, SessionID string }
	b.call("", "Target.setDiscoverTargets", map[string]any{"discover": true})
	must(b.t, json.Unmarshal(b.call("", "Target.createTarget", map[string]any{"url": "about:blank"}), &tab))
	must(b.t, json.Unmarshal(b.call("", "Target.attachToTarget", map[string]any{"targetId": tab.TargetID, "flatten": true}), &tab))
	b.session = tab.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(b.session, domain+".enable", nil)
	}
}

// call sends a command and waits for the answer.
func (b *browser) call(session, method string, params any) json.RawMessage {
	b.t.Helper()
	id := b.send(session, method, params)
	var result json.RawMessage
	b.until(method, func(m message) bool {
		if m.ID == id && m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		result = m.Result
		return m.ID == id
	})
	return result
}

func (b *browser) send(session, method string, params any) int {
	b.t.Helper()
	b.last++
	request := map[string]any{"id": b.last, "method": method}
	if params != nil {
		request["params"] = params
	}
	if session != "" {
		request["sessionId"] = session
	}
	raw, err := json.Marshal(request)
	must(b.t, err)
	_, err = b.to.Write(append(raw, 0))
	must(b.t, err)
	return b.last
}

// until takes messages until one is the last, and records what they report.
func (b *browser) until(what string, last func(message) bool) {
	b.t.Helper()
	late := time.After(patience)
	for {
		select {
		case m, open := <-b.from:
			if !open {
				b.t.Fatalf("%s: the browser is gone", what)
			}
			b.note(m)
			if last(m) {
				return
			}
		case <-late:
			b.t.Fatalf("%s: no answer in %s", what, patience)
		}
	}
}

// note keeps what a page must not do.
func (b *browser) note(m message) {
	var p struct {
		Request    struct{ URL string }
		URL        string
		Message    string
		Entry      struct{ Source, Text string }
		TargetInfo struct{ Type, URL string }
	}
	_ = json.Unmarshal(m.Params, &p) // an event with other fields is of no interest
	switch m.Method {
	case "Network.requestWillBeSent":
		if p.Request.URL != b.page && !strings.HasPrefix(p.Request.URL, "data:image/") {
			b.seen = append(b.seen, "loads "+p.Request.URL)
		}
	case "Page.javascriptDialogOpening":
		b.seen = append(b.seen, "says "+p.Message)
		b.send(b.session, "Page.handleJavaScriptDialog", map[string]any{"accept": true})
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Page.windowOpen", "Page.frameAttached", "Page.frameRequestedNavigation", "Page.downloadWillBegin":
		b.seen = append(b.seen, m.Method)
	case "Log.entryAdded": // also that the page's policy has refused something
		b.seen = append(b.seen, p.Entry.Source+": "+p.Entry.Text)
	case "Target.targetCreated":
		if p.TargetInfo.Type == "page" && p.TargetInfo.URL != "about:blank" {
			b.seen = append(b.seen, "opens "+p.TargetInfo.URL)
		}
	}
}

// open goes to a page and returns what it does until it is loaded, with all of its images, and a moment longer.
func (b *browser) open(url string) []string {
	b.t.Helper()
	b.page, b.seen = url, nil
	loaded := false
	id := b.send(b.session, "Page.navigate", map[string]any{"url": url})
	answered := false
	b.until(url, func(m message) bool {
		answered = answered || m.ID == id
		loaded = loaded || m.Method == "Page.loadEventFired"
		return answered && loaded
	})
	b.evaluate(`Promise.all(Array.from(document.images || [], i => { i.loading = "eager"; return i.decode().catch(() => 0) })).then(() => new Promise(done => setTimeout(done, 50)))`)
	return b.seen
}

// drawnImage is an image as the browser has it.
type drawnImage struct {
	Source string
	Width  int
}

func (b *browser) images() (list []drawnImage) {
	b.t.Helper()
	must(b.t, json.Unmarshal(b.evaluate(`Promise.resolve(Array.from(document.images, i => ({Source: i.src, Width: i.naturalWidth})))`), &list))
	return list
}

// evaluate runs a script of the test, for which the browser makes an exception from the page's policy.
func (b *browser) evaluate(script string) json.RawMessage {
	b.t.Helper()
	var answer struct {
		Result struct{ Value json.RawMessage }
	}
	raw := b.call(b.session, "Runtime.evaluate", map[string]any{"expression": script, "awaitPromise": true, "returnByValue": true})
	must(b.t, json.Unmarshal(raw, &answer))
	return answer.Result.Value
}

func (b *browser) version() string {
	var all map[string]string
	must(b.t, json.Unmarshal(b.call("", "Browser.getVersion", nil), &all))
	return strings.Join(slices.DeleteFunc(slices.Collect(maps.Values(all)), func(s string) bool { return !strings.Contains(s, "Chrom") || strings.Contains(s, "Mozilla") }), " ")
}
