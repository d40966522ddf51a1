package e2e

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// killedServer is a bucket of a server that can be killed and started again with its data.
type killedServer struct {
	*bucket
	dir, address string
	cmd          *exec.Cmd
}

func newKilledServer(t *testing.T) *killedServer {
	t.Helper()
	s := &killedServer{bucket: &bucket{t: t}, dir: t.TempDir(), address: "127.0.0.1"}
	endpoint := s.start(t)
	t.Cleanup(s.kill)
	s.address = strings.TrimPrefix(endpoint, "http://")
	if err := os.Mkdir(s.objects, 0o755); err != nil {
		t.Fatal(err)
	}
	s.standBefore(endpoint)
	return s
}

// start starts the server at the address that it had.
func (s *killedServer) start(t *testing.T) (endpoint string) {
	t.Helper()
	s.cmd = exec.Command("../../scripts/s3", s.address, s.dir)
	s.cmd.Stderr = os.Stderr
	_, err := s.cmd.StdinPipe() // it ends with this process
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := s.cmd.StdoutPipe()
	if err == nil {
		err = s.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var started struct {
		Endpoint  string `json:"endpoint"`
		AccessKey string `json:"access_key"`
		SecretKey string `json:"secret_key"`
		Dir       string `json:"dir"`
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &started)
	}
	if err != nil {
		t.Fatal(err)
	}
	s.accessKey, s.secretKey, s.objects = started.AccessKey, started.SecretKey, filepath.Join(started.Dir, "bucket")
	return started.Endpoint
}

func (s *killedServer) kill() {
	_ = s.cmd.Process.Kill() // it may be dead
	_ = s.cmd.Wait()
}

// killInAPart kills the server once it has some of the first part of an upload. The channel is closed then.
func (s *killedServer) killInAPart() (killed chan struct{}) {
	killed = make(chan struct{})
	var once sync.Once
	s.do(func(_ http.ResponseWriter, r *http.Request) bool {
		if putsBlob(r) && r.URL.Query().Has("partNumber") {
			r.Body = &onRead{r.Body, 1 << 20, func() { once.Do(func() { s.kill(); close(killed) }) }}
		}
		return false
	})
	return killed
}

// onRead calls do after that many bytes.
type onRead struct {
	io.ReadCloser
	left int
	do   func()
}

func (r *onRead) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if r.left -= n; r.left <= 0 {
		r.do()
	}
	return n, err
}

// inParts is a file of two parts.
const inParts = "head -c 70000000 /dev/zero >large; echo said"

// TestS3ServerDies: a server that is killed in the middle of a part is waited for, and the run is complete when it is back.
func TestS3ServerDies(t *testing.T) {
	h, s := newHarness(t), newKilledServer(t)
	s.configure(h)
	h.mustRun("ls")
	killed := s.killInAPart()
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", inParts)
	<-killed
	if _, err := http.Get("http://" + s.address); err == nil {
		t.Fatal("the server answers")
	}
	s.do(nil)
	s.start(t)
	l.wait().expect(t, "complete", "exit", 0)
	h.expectLarge(id)
}

func (h *harness) expectLarge(id string) {
	h.t.Helper()
	h.mustRun("gc") // empties what is kept here
	if got := h.mustRun("outputs", "cat", id, "large").stdout; len(got) != 70000000 || strings.Trim(got, "\x00") != "" {
		h.t.Errorf("%d bytes came back", len(got))
	}
	h.mustRun("catalog", "check", "--digests")
}

// expectUploadsGivenUp checks that gc keeps an upload that may be in progress, and aborts it a day later.
func (h *harness) expectUploadsGivenUp(s *killedServer) {
	h.t.Helper()
	// A dead server also leaves temporary files there.
	uploads := func() []string { return matches(filepath.Join(s.objects, ".sgwtmp/multipart/*/*-*-*-*-*")) }
	if len(uploads()) != 1 {
		h.t.Fatalf("%q are unfinished", uploads())
	}
	for _, path := range uploads() {
		if err := os.Chtimes(path, time.Now(), time.Now().Add(-25*time.Hour)); err != nil {
			h.t.Fatal(err)
		}
	}
	if out := h.mustRun("gc").stdout; !strings.Contains(out, "upload") || len(uploads()) > 0 {
		h.t.Errorf("%q are left: %s", uploads(), out)
	}
	h.mustRun("catalog", "check", "--digests")
}

// TestS3BothDie: server and launcher are killed in the middle of a part, and gc commits the result when the server is back.
func TestS3BothDie(t *testing.T) {
	h, s := newHarness(t), newKilledServer(t)
	s.configure(h)
	h.mustRun("ls")
	killed := s.killInAPart()
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", inParts)
	<-killed
	all := l.family()
	if err := l.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-l.ended
	expectGone(t, all, id)
	s.do(nil)
	s.start(t)
	if out := h.mustRun("gc").stdout; !strings.Contains(out, "committed "+id+"@1") {
		t.Errorf("%s", out)
	}
	h.show(id).expect(t, "complete", "exit", 0)
	h.expectLarge(id)
	h.expectUploadsGivenUp(s)
}

// TestS3SlowDown: if a server refuses most requests for a while, they are retried until it accepts them.
func TestS3SlowDown(t *testing.T) {
	h, b := inS3(t)
	h.write("numbers.py", smallAndLarge, 0o644)
	h.mustRun("ls")
	var mu sync.Mutex
	refused := map[string]int{}
	b.do(func(w http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if refused[r.URL.Path]++; !putsBlob(r) || refused[r.URL.Path] > 4 { // a request has three tries, and its run more
			return false
		}
		return refusePuts(503, "SlowDown")(w, r)
	})
	id := h.newID()
	h.start("--id", id, "--script", "numbers.py", "s", "20").expect(t, "complete", "exit", 0)
	b.do(nil)
	h.mustRun("gc")
	h.mustRun("catalog", "check", "--digests")
}

// TestS3Hangs: a signal ends a command that waits for a server without an answer at once; for a run, the second signal
// ends the wait, and its result is kept.
func TestS3Hangs(t *testing.T) {
	h, b := inS3(t)
	h.mustRun("ls")
	id := h.newID()
	h.start("--id", id, "--", "sh", "-c", "echo x >x; echo said").expect(t, "complete", "exit", 0)
	h.mustRun("gc")
	asked, end := make(chan struct{}, 1000), make(chan struct{})
	defer close(end)
	hang := func(_ http.ResponseWriter, _ *http.Request) bool { asked <- struct{}{}; <-end; return true }
	b.do(hang)
	for name, args := range map[string][]string{
		"run": {"run", "--", "true"}, "cat": {"outputs", "cat", id, "x"}, "gc": {"gc"}, "check": {"catalog", "check", "--digests"},
		"export": {"outputs", "export", id, "out"}, "logs": {"logs", id},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := h.in(t).command(theHost.bin, args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			drain(t, asked)
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait() // its code is checked below
			if code := cmd.ProcessState.ExitCode(); code != 130 && cmd.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGINT {
				t.Errorf("it ended with %v", cmd.ProcessState)
			}
			if len(asked) > 0 {
				t.Error("it did ask again after the signal")
			}
		})
	}
	h.expectGivenUp(b, hang, asked)
}

// drain waits until the server has a request.
func drain(t *testing.T, asked chan struct{}) {
	t.Helper()
	until(t, hangTimeout, "the server is asked", func() bool { return len(asked) > 0 })
	for len(asked) > 0 {
		<-asked
	}
}

func (h *harness) expectGivenUp(b *bucket, hang func(http.ResponseWriter, *http.Request) bool, asked chan struct{}) {
	h.t.Helper()
	b.do(func(w http.ResponseWriter, r *http.Request) bool { return putsBlob(r) && hang(w, r) })
	id := h.newID()
	l := h.launch(id, "--", "sh", "-c", "echo waits >x")
	drain(h.t, asked)
	l.signal(syscall.SIGINT)
	l.awaitWhere("what a second signal does", func(line string) bool { return strings.Contains(line, "a second signal keeps it") })
	l.signal(syscall.SIGINT)
	r := l.wait()
	r.expect(h.t, "error", "commit", 125)
	if !strings.Contains(r.Message, h.outcome(id)) {
		h.t.Errorf("%s", r.Message)
	}
	b.do(nil)
	if out := h.mustRun("gc").stdout; !strings.Contains(out, "committed "+id+"@1") {
		h.t.Errorf("%s", out)
	}
	if got := h.mustRun("outputs", "cat", id, "x").stdout; got != "waits\n" {
		h.t.Errorf("%q", got)
	}
}
