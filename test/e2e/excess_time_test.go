package e2e

import (
	"bufio"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// stays are what makes an analysis hard to end, and what must end it: SIGTERM, after which its grace never ends, or
// SIGKILL after a short one. It has so many processes in addition to its own.
var stays = map[string]struct {
	signal string
	others int
}{
	"deaf":     {"SIGKILL", 0},
	"daemons":  {"SIGTERM", 3},
	"stopped":  {"SIGKILL", 0},
	"siblings": {"SIGTERM", 3},
	"vfork":    {"SIGKILL", 1},
}

// stayer is a run that does not want to end.
type stayer struct {
	*launch
	begin flag
	all   []watched
	dies  string // by which signal
}

func (h *harness) newStayer(t *testing.T, kind string, flags, args []string) *stayer {
	t.Helper()
	grace := never
	if stays[kind].signal == "SIGKILL" {
		grace = "--grace=100ms"
	}
	s := &stayer{begin: h.flag(), dies: stays[kind].signal}
	s.launch = h.launchProgram(s.begin, append(flags, grace), "limits/stay.py", append([]string{kind}, args...)...)
	s.await("ready")
	s.all = s.family()
	if own := analysisAmong(t, s.all) + 1; len(s.all)-own < stays[kind].others {
		t.Errorf("%s: it has started %+v", kind, s.all[own:])
	}
	return s
}

// expect waits for the end, after which nothing is left.
func (s *stayer) expect(t *testing.T, want ended, beside *sibling) {
	t.Helper()
	r := s.wait()
	want.expect(t, r)
	expectGone(t, s.all, s.id)
	s.h.expectNothingOf(t, r)
	beside.expectUntouched(t)
}

// TestTimeouts: they start one after the other and reach their timeouts together, which are far longer than they need to be ready.
func TestTimeouts(t *testing.T) {
	h := newHarness(t)
	beside := h.newSibling()
	runs := map[string]*stayer{}
	for kind := range stays {
		runs[kind] = h.newStayer(t, kind, flags("--timeout=60s"), nil)
	}
	for kind, s := range runs {
		t.Run(kind, func(t *testing.T) {
			s.expect(t, ended{"failed", "timeout", 124, s.dies, func(t *testing.T, r result) {
				if r.Usage.WallMS < 60_000 {
					t.Errorf("it had %d ms", r.Usage.WallMS)
				}
			}}, beside)
		})
	}
	beside.finish(t)
}

func TestStays(t *testing.T) {
	h := newHarness(t)
	beside := h.newSibling()
	for kind := range stays {
		t.Run(kind+", stopped", func(t *testing.T) {
			s := h.in(t).newStayer(t, kind, nil, nil)
			s.signal(syscall.SIGTERM)
			s.expect(t, ended{"canceled", "stopped", 143, s.dies, nil}, beside)
		})
	}
	for _, kind := range []string{"daemons", "siblings"} {
		t.Run(kind+", left", func(t *testing.T) {
			s := h.in(t).newStayer(t, kind, nil, flags("ends"))
			s.begin.raise()
			s.expect(t, well(nil), beside)
		})
	}
	t.Run("killed from outside", func(t *testing.T) {
		if theHost.ranged && !theHost.root {
			t.Log("not covered here: the caller may not kill processes that have other ids; the tests as root and with one id do")
			return
		}
		s := h.in(t).newStayer(t, "deaf", nil, nil)
		s.all[analysisAmong(t, s.all)].kill(t)
		s.expect(t, denied(137, "SIGKILL"), beside)
	})
	beside.finish(t)
}

// TestStaysWorkOutside: by SIGTERM only, processes are left.
func TestStaysWorkOutside(t *testing.T) {
	for kind := range stays {
		t.Run(kind, func(t *testing.T) {
			h := newHarness(t)
			marker := h.flag().path
			cmd := h.command("/usr/bin/python3", "-B", testdata(t, "limits/stay.py"), marker, kind)
			stdout, err := cmd.StdoutPipe()
			if err == nil {
				err = cmd.Start()
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { killWith(t, marker); _ = cmd.Wait() }) // killed
			if line, err := bufio.NewReader(stdout).ReadString('\n'); line != "ready\n" {
				t.Fatalf("%q, %v", line, err)
			}
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			time.Sleep(100 * time.Millisecond)
			if len(with(marker)) == 0 {
				t.Error("nothing is left")
			}
		})
	}
}

// killWith kills the processes that have the text among their arguments.
func killWith(t *testing.T, text string) {
	t.Helper()
	processes(func(p process) bool {
		if strings.Contains(string(p.command), text) {
			if err := unix.Kill(p.pid, unix.SIGKILL); err != nil {
				t.Error(err)
			}
		}
		return false
	})
}
