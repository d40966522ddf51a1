package ui

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/cas"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/blob"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/catalog/sqlite"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// home is a real catalog and a real blob store, and runs that go on as a test says.
type home struct {
	catalog.Catalog
	blobs  *blob.Store
	ingest *cas.Ingest

	logs   result.Logs    // of each run
	script *result.Script // likewise
	// request is that of the runs that begin next; empty for "true".
	request string

	mu      sync.Mutex
	going   Active
	log     string
	stopped []catalog.Key
}

func newHome(t testing.TB) *home {
	t.Helper()
	dir := t.TempDir()
	cat, err := sqlite.Open(t.Context(), filepath.Join(dir, "catalog.db"))
	must(t, err)
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	must(t, err)
	ingest, err := blobs.NewIngest("test")
	must(t, err)
	t.Cleanup(func() { must(t, errors.Join(ingest.Close(), cat.Close())) })
	return &home{Catalog: cat, blobs: blobs, ingest: ingest, going: Active{State: "running", Here: true, ElapsedMS: 5000, Use: &Use{1500, 3 << 20, 2}}}
}

func (h *home) stores() Stores { return Stores{Runs: h, Files: h, Life: h} }

func (h *home) Result(ctx context.Context, run catalog.Run) (result.Result, error) {
	told := result.Result{
		ID: run.ID, Attempt: run.Attempt, Outcome: outcome.Outcome{State: run.State, Reason: run.Reason, Message: run.Message}, Analysis: run.Request,
		OutputsTotal: run.OutputsTotal, CreatedAt: &run.CreatedAt, Report: result.Report{Logs: h.logs, Script: h.script},
	}
	return told, h.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		o := result.Output{Path: string(e.Path), Size: e.Size, SHA256: e.SHA256, MediaType: e.MediaType}
		told.Outputs = append(told.Outputs, o)
		return true
	})
}

func (h *home) Open(ctx context.Context, sha256 string) (io.ReadCloser, error) {
	return h.blobs.Open(ctx, sha256)
}

func (h *home) Look(context.Context, catalog.Run) Active {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.going
}

func (h *home) Logs(_ context.Context, _ catalog.Run, stdout, stderr io.Writer) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, err := io.WriteString(stdout, h.log)
	_, failed := io.WriteString(stderr, "to stderr\n")
	return errors.Join(err, failed)
}

func (h *home) Stop(_ context.Context, run catalog.Run) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = append(h.stopped, run.Key)
	return nil
}

func (h *home) stops() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.stopped)
}

// begin writes the row of a run that goes on.
func (h *home) begin(t testing.TB, id string, created time.Time, labels map[string]string) catalog.Run {
	t.Helper()
	run := catalog.Run{
		Key: catalog.Key{ID: id, Attempt: 1}, Outcome: outcome.Outcome{State: outcome.Running}, CreatedAt: created, Labels: labels,
		Request: []byte(cmp.Or(h.request, `{"command":["true"]}`)), Host: "h", BootID: "b", ToolVersion: "v",
	}
	must(t, h.Create(t.Context(), run))
	return run
}

// end commits a run with outputs, each a path and its contents.
func (h *home) end(t testing.TB, run catalog.Run, state outcome.State, files ...[2]string) {
	t.Helper()
	run.State, run.Reason, run.StartedAt, run.FinishedAt = state, "exit", run.CreatedAt, run.CreatedAt
	run.Report = []byte(`{"usage":{"wall_ms":1500}}`)
	var entries []outputs.Entry
	for _, file := range files {
		entries = append(entries, outputs.Entry{Path: []byte(file[0]), Size: int64(len(file[1])), SHA256: h.put(t, file[1]), MediaType: mediaOf(file[0]), Mode: 0o644})
	}
	must(t, h.Commit(t.Context(), run, func() (outputs.Entry, error) {
		if len(entries) == 0 {
			return outputs.Entry{}, io.EOF
		}
		first := entries[0]
		entries = entries[1:]
		return first, nil
	}))
}

// mediaOf is the type that the harvest would give a file of these tests.
func mediaOf(name string) string {
	known := map[string]string{".csv": "text/csv", ".json": "application/json", ".png": "image/png", ".svg": "image/svg+xml"}
	return cmp.Or(known[filepath.Ext(name)], "text/html")
}

func (h *home) put(t testing.TB, content string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	digest := hex.EncodeToString(sum[:])
	name, f, err := h.ingest.Create()
	must(t, err)
	_, err = f.WriteString(content)
	must(t, errors.Join(err, f.Close()))
	must(t, h.ingest.Publish(name, digest))
	return digest
}

// started serves a home at a real listener until the test ends, without the guards of some names.
func started(t testing.TB, h *home, without ...string) *Server {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	s := New(listener, h.stores(), slog.New(slog.DiscardHandler))
	s.tick = 10 * time.Millisecond
	s.guards = slices.DeleteFunc(s.guards, func(g guard) bool { return slices.Contains(without, g.name) })
	if len(s.guards)+len(without) != len(guards()) {
		t.Fatalf("there are no guards %q", without)
	}
	ctx, end := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	t.Cleanup(func() { end(); must(t, <-served) })
	return s
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
	err    error // of reading the body
}

// ask sends one request on a connection of its own, with headers in pairs; Host is one of them. Redirects are not followed.
func ask(t testing.TB, s *Server, method, target, body string, headers ...string) answer {
	t.Helper()
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       time.Minute,
	}
	r, err := http.NewRequestWithContext(t.Context(), method, "http://"+s.host+target, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	got, err := client.Do(r)
	must(t, err)
	defer got.Body.Close()
	content, err := io.ReadAll(got.Body)
	return answer{got.StatusCode, got.Header, string(content), err}
}

// raw sends bytes and returns the first line of what comes back.
func raw(t testing.TB, s *Server, request string) string {
	t.Helper()
	c, err := net.Dial("tcp", s.listener.Addr().String())
	must(t, err)
	defer c.Close()
	must(t, c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, request)
	must(t, err)
	all, _ := io.ReadAll(c) // it may be reset once it was answered
	line, _, _ := strings.Cut(string(all), "\r\n")
	return line
}

// page requests a page below the proof.
func page(t testing.TB, s *Server, name string, headers ...string) answer {
	t.Helper()
	return ask(t, s, http.MethodGet, s.key.root()+name, "", headers...)
}

func at(minute int) time.Time {
	return time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// seeded is a home with a run that has ended and one that goes on, both with labels.
func seeded(t testing.TB) *home {
	t.Helper()
	h := newHome(t)
	h.end(t, h.begin(t, "done", at(1), map[string]string{"k": "<v>"}), outcome.Complete, [2]string{"a/page.html", "<script>alert(1)</script>"}, [2]string{"\xff\n.txt", "bytes"})
	h.begin(t, "going", at(2), nil)
	h.log = "line <b>\x1b[2J\n"
	return h
}

func (a answer) String() string { return fmt.Sprintf("%d %.300q", a.status, a.body) }
