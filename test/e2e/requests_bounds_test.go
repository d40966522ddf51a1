package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// floodsProxy keeps as many connections open as the proxy takes, with an endless header in each, and then sends one
// request over another.
const floodsProxy = `cat >flood.py <<'END'
import socket
held = []
for n in range(64):
    c = socket.create_connection(("127.0.0.1", 3128))
    c.settimeout(60)
    held.append(c)
    try: c.sendall(b"GET http://api.example.org/flood HTTP/1.1\r\nHost: x\r\nX: " + b"x" * 63000)
    except OSError: pass
for c in held:
    try: c.sendall(b"y")
    except OSError: pass
for c in held: c.close()
END
python3 flood.py
curl -sS -m 170 http://api.example.org/two; exit 0`

// TestRequestsProxyOutOfMemory: a proxy that gets no more memory ends, and nothing is reachable without it. With enough
// memory it survives the flood.
func TestRequestsProxyOutOfMemory(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config := s.permit("allow_hosts: [api.example.org]")
			for _, limit := range []uint64{0, 1 << 20} {
				s.requests()
				l, proxy := s.askingThen(t, config, floodsProxy)
				if limit > 0 {
					starve(t, proxy, limit)
				}
				r := s.resume(t, l)
				seen, warnings := s.requests(), strings.Join(r.Warnings, "\n")
				if ended := strings.Contains(warnings, "the proxy of requests ended before"); ended != (limit > 0) || strings.Contains(seen, "/two") == ended {
					t.Errorf("with at most %d bytes servers saw %q, warnings %q", limit, seen, warnings)
				}
				if strings.Contains(seen, "/flood") || len(warnings) > 500 {
					t.Errorf("servers saw %q, warnings %q", seen, warnings)
				}
			}
		})
	}
}

// starve bounds a process' data from now on, as its own user.
func starve(t *testing.T, pid int, limit uint64) {
	t.Helper()
	var of unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d", pid), &of); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("prlimit", fmt.Sprintf("--pid=%d", pid), fmt.Sprintf("--data=%d:%d", limit, limit))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: of.Uid, Gid: of.Gid}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// slowReader requests an endless answer and reads nothing of it until it may go on.
const slowReader = `cat >slow.py <<'END'
import os, socket, time
c = socket.create_connection(("127.0.0.1", 3128))
c.sendall(b"GET http://api.example.org/endless HTTP/1.1\r\nHost: x\r\n\r\n")
while not os.path.exists("read"): time.sleep(0.05)
left = 200_000_000
while left > 0: left -= len(c.recv(1 << 20))
c.close()
while not os.path.exists("end"): time.sleep(0.05)
END
python3 slow.py`

// TestRequestsEndless: of an answer that is not read only as much is received as fits into the sockets, and an answer
// whose reader is gone ends.
func TestRequestsEndless(t *testing.T) {
	const sockets = 64 << 20 // far more than the buffers of two connections, far less than is read then
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			s.sent.Store(0)
			l, _ := s.askingThen(t, s.permit("allow_hosts: [api.example.org]"), slowReader)
			s.say(t, l, "go")
			last, same := int64(-1), 0
			until(t, hangTimeout, "no more is fetched", func() bool {
				time.Sleep(20 * time.Millisecond)
				if now := s.sent.Load(); now != last || now == 0 {
					last, same = now, 0
				}
				same++
				return same > 50
			})
			if last > sockets {
				t.Errorf("%d bytes were fetched that were not read", last)
			}
			s.say(t, l, "read")
			until(t, hangTimeout, "the server's answer ends with its reader", func() bool { return s.sent.Load() > 200_000_000 && s.open.Load() == 0 })
			s.say(t, l, "end")
			r := l.result(t)
			if r.State != "complete" || r.Requests.Total != 2 || r.Requests.ReceivedBytes < 200_000_000 {
				t.Errorf("%s, %+v", r.Message, r.Requests)
			}
		})
	}
}

// TestRequestsEndlessUpload: a request without an end ends at the bound, and the server has no more than that.
func TestRequestsEndlessUpload(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			s.received.Store(0)
			r, _ := s.ask(t, s.permit("allow_hosts: [api.example.org]"), "head -c 20000000 /dev/zero | curl -sS -T - http://api.example.org/take; true")
			until(t, hangTimeout, "the server's request ends", func() bool { return s.open.Load() == 0 })
			if got := s.received.Load(); got == 0 || got > 1<<20 {
				t.Errorf("the server got %d bytes", got)
			}
			if r.State != "complete" || r.Requests.Refused == 0 || !strings.Contains(r.Requests.List[0].Why, "--allow-upload") || r.Requests.SentBytes > 1<<20 {
				t.Errorf("%s, %+v", r.Message, r.Requests)
			}
		})
	}
}

// TestRequestsStopped: a server that does not end its answer does not delay the end of a stopped run.
func TestRequestsStopped(t *testing.T) {
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			s.sent.Store(0)
			l, _ := s.askingThen(t, s.permit("allow_hosts: [api.example.org]"), "exec curl -sS http://api.example.org/endless >/dev/null")
			s.say(t, l, "go")
			until(t, hangTimeout, "the server sends", func() bool { return s.sent.Load() > 0 })
			if err := l.cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			if r := l.result(t); r.State != "canceled" || r.Requests.Total != 2 || r.Requests.ReceivedBytes == 0 {
				t.Errorf("%s: %s, %+v", r.State, r.Message, r.Requests)
			}
			until(t, hangTimeout, "the server's request ends", func() bool { return s.open.Load() == 0 })
		})
	}
}

// TestRequestsDownload downloads 1 GiB over TLS by curl, alternately in a run through the proxy and outside without it.
// Its figures are in docs/PERFORMANCE.md.
func TestRequestsDownload(t *testing.T) {
	const get = `curl -sSf --cacert "$0" -o /dev/null -w '%{size_download} %{speed_download}\n' 'https://api.example.org/large?1073741824'`
	for kind, s := range surfers(t) {
		t.Run(kind, func(t *testing.T) {
			config, trust := s.permit("allow_hosts: [api.example.org]"), s.trust()
			rounds := 1
			if os.Getenv("SCIDEX_OCI_SOAK") != "" {
				rounds = 5
			}
			for range rounds {
				r, _ := s.ask(t, config, strings.ReplaceAll(get, "$0", "/inputs/ca.crt"), trust)
				inside := s.h.in(t).finish(s.command("--config", config, "logs", r.ID)).stdout
				outside := s.h.in(t).finish(s.join(s.h.in(t).command("/bin/sh", "-c", get, s.authority.File))).stdout
				for _, said := range []string{inside, outside} {
					if !strings.HasPrefix(said, "1073741824 ") {
						t.Errorf("it got %q of 1 GiB", said)
					}
				}
				t.Logf("by the proxy and without it (bytes, bytes/s): %s, %s", strings.TrimSpace(inside), strings.TrimSpace(outside))
			}
		})
	}
}
