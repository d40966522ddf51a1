package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// TestServeRequests runs tests of `run` again, with their own assertions, and each request through an engine.
func TestServeRequests(t *testing.T) {
	tests := maps.Clone(requestTests)
	if inSoak() {
		maps.Copy(tests, longRequestTests)
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			before := askedOfEngines.Load()
			t.Cleanup(func() {
				if theHost.root && askedOfEngines.Load() == before { // others leave some out
					t.Error("it asks no engine")
				}
			})
			test(t)
		})
	}
}

// askedOfEngines counts requests.
var askedOfEngines atomic.Int64

// engines take the requests of a harness instead of `run`: one for each command line and environment.
type engines struct {
	t   *testing.T
	mu  sync.Mutex
	all map[string]*sharedEngine
}

// newEngines are those of a test below TestServeRequests, else nil.
func newEngines(t *testing.T) *engines {
	if !strings.HasPrefix(t.Name(), "TestServeRequests/") {
		return nil
	}
	e := &engines{t: t, all: map[string]*sharedEngine{}}
	t.Cleanup(e.close)
	return e
}

// close ends all engines, which must end by themselves.
func (e *engines) close() {
	for _, a := range e.all {
		a.to.Close()
		select {
		case <-a.gone:
		case <-time.After(hangTimeout):
			e.t.Errorf("the engine goes on after the end of its stream")
			_ = a.cmd.Process.Kill()
		}
		if err := a.cmd.Wait(); err != nil {
			e.t.Errorf("the engine: %v", err)
		}
	}
}

// take returns the engine of a harness with the flags, started if there is none yet.
func (e *engines) take(h *harness, flags []string) *sharedEngine {
	e.t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	key := fmt.Sprintf("%q", slices.Concat([]string{h.dir}, h.env, flags))
	if e.all[key] == nil {
		e.all[key] = newSharedEngine(e.t, h, flags)
	}
	return e.all[key]
}

// sharedEngine is an engine that several goroutines use at once.
type sharedEngine struct {
	*served
	mu      sync.Mutex
	answers map[string]chan message
	gone    chan struct{} // closed when it writes no more
}

// newSharedEngine starts an engine that outlives the context of its test, so that it can end by itself.
func newSharedEngine(t *testing.T, h *harness, flags []string) *sharedEngine {
	t.Helper()
	cmd := exec.Command(theHost.bin, append([]string{"serve", "--stdio"}, flags...)...)
	cmd.Dir, cmd.Env, cmd.Stderr = h.dir, h.env, os.Stderr
	to, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	from, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &sharedEngine{
		served:  &served{harness: &harness{t: t}, cmd: cmd, to: to, from: bufio.NewReader(from), events: map[string][]string{}, logs: map[string]string{}},
		answers: map[string]chan message{}, gone: make(chan struct{}),
	}
	go a.read()
	return a
}

// read passes each answer to the goroutine that waits for it.
func (a *sharedEngine) read() {
	defer close(a.gone)
	for {
		line, err := a.from.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			a.t.Errorf("%q: %v", line, err)
		}
		if err := validate("serve.json", line); err != nil {
			a.t.Errorf("%v in %s", err, line)
		}
		a.mu.Lock()
		to := a.answers[string(m.ID)]
		delete(a.answers, string(m.ID))
		a.mu.Unlock()
		if to == nil {
			a.t.Errorf("an answer that no request has: %s", line)
			continue
		}
		to <- m
	}
}

// ask sends a request and waits for its answer.
func (a *sharedEngine) ask(method string, params map[string]any) message {
	a.t.Helper()
	askedOfEngines.Add(1)
	to := make(chan message, 1)
	a.mu.Lock()
	a.answers[a.send(method, params)] = to
	a.mu.Unlock()
	select {
	case m := <-to:
		return m
	case <-a.gone:
		a.t.Fatal("the engine has ended")
	}
	return message{}
}

// start is that of a harness, through an engine. A request that an engine does not take is run by the command.
func (e *engines) start(h *harness, args []string) (r result, taken bool) {
	h.t.Helper()
	q := runLine{h: h, fields: map[string]any{}}
	if !q.read(args) {
		return r, false
	}
	m := e.take(h, q.flags).ask("run", q.fields)
	text := m.Result
	if m.Error != nil {
		text = m.Error.Data.Result
	}
	if m.Error != nil && len(text) == 0 { // refused as a flag is, which has no result in serve
		return result{State: "error", Reason: "request", ExitCode: 125, Message: strings.TrimPrefix(m.Error.Message, "params: ")}, true
	}
	if err := r.read(text); err != nil {
		h.t.Fatalf("%q: %v", args, err)
	}
	return r, true
}

// runLine is a command line of run as an engine takes it.
type runLine struct {
	h      *harness
	fields map[string]any
	flags  []string // of the engine
}

// kinds of flags, by name.
var (
	textFlags   = flags("id", "script", "data", "docs", "project", "stage", "export", "workdir", "rootfs", "runtime", "ids", "memory", "timeout", "grace", "log-size", "work-size", "work-storage", "digest-inputs", "limits", "preload", "keep")
	numberFlags = flags("cpus", "pids", "work-files")
	listFlags   = map[string]string{"input": "inputs", "output": "outputs", "exclude": "exclude", "secret": "secrets"}
	pairFlags   = map[string]string{"label": "labels", "env": "env"}
	// engineFlags are those that serve has for all requests.
	engineFlags = flags("config", "root", "db", "blobs", "min-free", "audit", "overwrite", "post-process", "post-process-timeout", "post-process-on", "log-level")
	switches    = flags("overwrite", "deterministic")
)

// read parses a command line, and reports false if it has something that no request has.
func (q *runLine) read(args []string) bool {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "--" {
		name, value, given := strings.Cut(strings.TrimLeft(args[0], "-"), "=")
		args = args[1:]
		switch {
		case given:
		case slices.Contains(switches, name):
			value = "true"
		case len(args) > 0:
			value, args = args[0], args[1:]
		}
		if !q.set(name, value) {
			return false
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
	case q.fields["script"] != nil:
		q.fields["args"] = args
	default:
		q.fields["command"] = args
	}
	return true
}

// set notes a flag.
func (q *runLine) set(name, value string) bool {
	switch field := strings.ReplaceAll(name, "-", "_"); {
	case slices.Contains(textFlags, name):
		q.fields[field] = value
	case slices.Contains(numberFlags, name):
		q.fields[field] = json.Number(value)
	case name == "deterministic":
		q.fields[field] = value == "true"
	case listFlags[name] != "":
		list, _ := q.fields[listFlags[name]].([]string)
		q.fields[listFlags[name]] = append(list, value)
	case pairFlags[name] != "":
		q.pair(pairFlags[name], value)
	case slices.Contains(engineFlags, name):
		q.flags = append(q.flags, "--"+name+"="+value)
	case name == "f" || name == "file":
		return q.manifest(value)
	default:
		return false
	}
	return true
}

// pair notes K=V, or K for the value of the caller's environment.
func (q *runLine) pair(field, text string) {
	name, value, given := strings.Cut(text, "=")
	for _, one := range q.h.env {
		if its, ok := strings.CutPrefix(one, name+"="); ok && !given {
			value = its
		}
	}
	pairs := map[string]any{}
	if before, ok := q.fields[field].(map[string]any); ok {
		pairs = before
	}
	pairs[name] = value
	q.fields[field] = pairs
}

// manifest lays the fields of a file under those that are there. Its relative paths start at the file.
func (q *runLine) manifest(name string) bool {
	if !filepath.IsAbs(name) {
		name = q.h.path(name)
	}
	text, err := os.ReadFile(name)
	var fields map[string]any
	if err != nil || yaml.Unmarshal(text, &fields) != nil {
		return false
	}
	absolute := func(path string) string {
		if filepath.IsAbs(path) || path == "none" {
			return path
		}
		return filepath.Join(filepath.Dir(name), path)
	}
	for _, field := range flags("script", "data", "docs", "project", "stage", "export", "rootfs", "runtime") {
		path, ok := fields[field].(string)
		if name := field == "rootfs" || field == "runtime"; ok && (!name || strings.Contains(path, "/")) {
			fields[field] = absolute(path)
		}
	}
	if list, ok := fields["inputs"].([]any); ok {
		for i := range list {
			if path, ok := list[i].(string); ok && !strings.HasPrefix(path, "sha256:") {
				list[i] = absolute(path)
			}
		}
	}
	for field, value := range q.fields {
		fields[field] = value
	}
	q.fields = fields
	return true
}

// wordedForRun are refusals in which run names its command line, and serve and batch do not.
var wordedForRun = flags("neither", "empty command", "command and script")

// ofYAML are refusals of YAML that JSON cannot express.
var ofYAML = flags("cpus .inf", "two documents")

// inParams has parameters instead of flags.
var inParams = strings.NewReplacer("--overwrite", `"overwrite": true`, "--script", "script", "--export", "export", "--data", "data")

// TestServeRefusedManifests: an error in a manifest is an error in a request, with the same sentence about parameters.
func TestServeRefusedManifests(t *testing.T) {
	h := newHarness(t)
	makeRefusedFiles(h)
	s := h.serve()
	same := 0
	for name, r := range inManifest {
		var fields map[string]any
		if yaml.Unmarshal([]byte(r.manifest), &fields) != nil || len(fields) == 0 || slices.Contains(ofYAML, name) {
			continue // no JSON object has it
		}
		alone := h.start("-f", h.write("manifest.yaml", r.manifest, 0o644))
		m := s.call("run", fields)
		if m.Error == nil || m.Error.Code != -32602 {
			t.Fatalf("%s: %s %+v", name, m.Result, m.Error)
		}
		got, want := strings.TrimPrefix(m.Error.Message, "params: "), inParams.Replace(ofAFile.ReplaceAllString(alone.Message, ""))
		if got != want && !slices.Contains(wordedForRun, name) {
			t.Errorf("%s:\n%s\nrun says\n%s", name, got, want)
		}
		same++
	}
	if s.close(0); same < 20 {
		t.Errorf("only %d of %d were compared", same, len(inManifest))
	}
}

// ofAFile is the position in a manifest with which a message begins.
var ofAFile = regexp.MustCompile(`^[^ ]*manifest\.yaml:\d+: `)
