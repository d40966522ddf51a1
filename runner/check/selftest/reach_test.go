package selftest

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
)

func open(t *testing.T, make func() (*listener, error)) *listener {
	t.Helper()
	e, err := make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// uniqueName is a name for what is the whole host's, such as an abstract socket: no other test process has it.
func uniqueName(t *testing.T) string {
	t.Helper()
	return "selftest-" + filepath.Base(filepath.Dir(t.TempDir())) + "-" + strconv.FormatInt(names.Add(1), 10)
}

// names counts those of this process.
var names atomic.Int64

func TestListenersCount(t *testing.T) {
	for _, c := range []struct {
		do   string
		open func() (*listener, error)
	}{
		{"tcp", func() (*listener, error) { return newListener("tcp", "127.0.0.1:0", "secret") }},
		{"dns", func() (*listener, error) { return newDNSListener("127.0.0.1:0", "secret") }},
		{"socket", func() (*listener, error) { return newListener("unix", "@"+uniqueName(t), "secret") }},
	} {
		e := open(t, c.open)
		p := counted(e, trial{attempt: canary.Attempt{Do: c.do, At: e.Address}, judge: func(canary.Outcome) (check.Status, string) { return check.Pass, "refused" }})
		if !p.controlled {
			t.Fatalf("%s: %s", c.do, p.control)
		}
		if result, detail := p.judge(canary.Outcome{}); result != check.Pass {
			t.Errorf("%s: %s, %s; want a pass where nobody came", c.do, result, detail)
		}
		// The canary says that it was refused, and yet the listener was reached.
		if p := p.performOutside(); !p.controlled {
			t.Fatalf("%s: %s", c.do, p.control)
		}
		if result, detail := p.judge(canary.Outcome{}); result != check.Fail {
			t.Errorf("%s: %s, %s; want a failure where somebody came", c.do, result, detail)
		}
		if result, _ := p.judge(canary.Outcome{}); result != check.Pass {
			t.Errorf("%s: it was counted twice", c.do)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if result, detail := p.judge(canary.Outcome{}); result != check.Inconclusive {
			t.Errorf("%s: %s, %s; want nothing proven by a listener that is closed", c.do, result, detail)
		}
	}
}

func TestControlOfAnotherListener(t *testing.T) {
	e := open(t, func() (*listener, error) { return newListener("tcp", "127.0.0.1:0", "secret") })
	other := open(t, func() (*listener, error) { return newListener("tcp", "127.0.0.1:0", "secret") })
	if p := counted(e, tcpTrial("127.0.0.1:"+portOf(t, other))); p.controlled {
		t.Errorf("what reached another listener is taken for a control: %s", p.control)
	}
}

func portOf(t *testing.T, l *listener) string {
	t.Helper()
	_, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Each address of a service and its name are tried; those that do not answer are left out where one does.
func TestService(t *testing.T) {
	e := open(t, func() (*listener, error) { return newListener("tcp", "127.0.0.1:0", "secret") })
	port := portOf(t, e)
	trials, _ := serviceTrials(t.Context(), "localhost", port)
	var shown []string
	for _, p := range trials {
		if !p.controlled {
			t.Errorf("%s: %s", p.target, p.control)
		}
		shown = append(shown, p.name+" "+p.target)
	}
	if want := []string{"tcp 127.0.0.1:" + port, "tcp localhost:" + port}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		trials, _ := serviceTrials(t.Context(), host, "1")
		if len(trials) == 0 || slices.ContainsFunc(trials, func(p trial) bool { return p.controlled || p.control == "" }) {
			t.Errorf("%s: %+v", host, trials)
		}
	}
}

func TestTargetsAreTriedOnce(t *testing.T) {
	e := open(t, func() (*listener, error) { return newListener("tcp", "127.0.0.1:0", "secret") })
	to := Target{Host: "127.0.0.1", Port: portOf(t, e)}
	targets := []Target{to, to, {Socket: "/none"}, {Socket: "/none"}}
	if trials, _ := targetTrials(t.Context(), targets); len(trials) != 2 {
		t.Errorf("%+v", trials)
	}
}

// A client that sends nothing is counted, too.
func TestSilentClient(t *testing.T) {
	l, err := newListener("tcp", "127.0.0.1:0", "secret")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := l.Count(); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}
