package trials

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/judge"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/listener"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
)

func open(t *testing.T, make func() (*listener.Listener, error)) *listener.Listener {
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
		open func() (*listener.Listener, error)
	}{
		{"tcp", func() (*listener.Listener, error) { return listener.New("tcp", "127.0.0.1:0", "secret") }},
		{"dns", func() (*listener.Listener, error) { return listener.NewDNS("127.0.0.1:0", "secret") }},
		{"socket", func() (*listener.Listener, error) { return listener.New("unix", "@"+uniqueName(t), "secret") }},
	} {
		e := open(t, c.open)
		p := counted(e, Trial{Attempt: canary.Attempt{Do: c.do, At: e.Address}, Judge: func(canary.Outcome) (judge.Result, string) { return judge.Pass, "refused" }})
		if !p.Controlled {
			t.Fatalf("%s: %s", c.do, p.Control)
		}
		if result, detail := p.Judge(canary.Outcome{}); result != judge.Pass {
			t.Errorf("%s: %s, %s; want a pass where nobody came", c.do, result, detail)
		}
		// The canary says that it was refused, and yet the listener was reached.
		if p := p.performOutside(); !p.Controlled {
			t.Fatalf("%s: %s", c.do, p.Control)
		}
		if result, detail := p.Judge(canary.Outcome{}); result != judge.Fail {
			t.Errorf("%s: %s, %s; want a failure where somebody came", c.do, result, detail)
		}
		if result, _ := p.Judge(canary.Outcome{}); result != judge.Pass {
			t.Errorf("%s: it was counted twice", c.do)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if result, detail := p.Judge(canary.Outcome{}); result != judge.Inconclusive {
			t.Errorf("%s: %s, %s; want nothing proven by a listener that is closed", c.do, result, detail)
		}
	}
}

func TestControlOfAnotherListener(t *testing.T) {
	e := open(t, func() (*listener.Listener, error) { return listener.New("tcp", "127.0.0.1:0", "secret") })
	other := open(t, func() (*listener.Listener, error) { return listener.New("tcp", "127.0.0.1:0", "secret") })
	if p := counted(e, tcpTrial("127.0.0.1:"+portOf(t, other))); p.Controlled {
		t.Errorf("what reached another listener is taken for a control: %s", p.Control)
	}
}

func portOf(t *testing.T, l *listener.Listener) string {
	t.Helper()
	_, port, err := net.SplitHostPort(l.Address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Each address of a service and its name are tried; those that do not answer are left out where one does.
func TestService(t *testing.T) {
	e := open(t, func() (*listener.Listener, error) { return listener.New("tcp", "127.0.0.1:0", "secret") })
	port := portOf(t, e)
	trials, _ := serviceTrials(t.Context(), "localhost", port)
	var shown []string
	for _, p := range trials {
		if !p.Controlled {
			t.Errorf("%s: %s", p.Target, p.Control)
		}
		shown = append(shown, p.Check+" "+p.Target)
	}
	if want := []string{"tcp 127.0.0.1:" + port, "tcp localhost:" + port}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		trials, _ := serviceTrials(t.Context(), host, "1")
		if len(trials) == 0 || slices.ContainsFunc(trials, func(p Trial) bool { return p.Controlled || p.Control == "" }) {
			t.Errorf("%s: %+v", host, trials)
		}
	}
}

func TestTargetsAreTriedOnce(t *testing.T) {
	e := open(t, func() (*listener.Listener, error) { return listener.New("tcp", "127.0.0.1:0", "secret") })
	to := target.Target{Host: "127.0.0.1", Port: portOf(t, e)}
	targets := []target.Target{to, to, {Socket: "/none"}, {Socket: "/none"}}
	if trials, _ := Targets(t.Context(), targets); len(trials) != 2 {
		t.Errorf("%+v", trials)
	}
}
