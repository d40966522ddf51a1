package selftest

import (
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
)

func open(t *testing.T, make func() (*ear, error)) *ear {
	t.Helper()
	e, err := make()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.close() })
	return e
}

// uniqueName is a name for what is the whole host's, such as an abstract socket: no other test process has it.
func uniqueName(t *testing.T) string {
	t.Helper()
	return "selftest-" + filepath.Base(filepath.Dir(t.TempDir())) + "-" + strconv.FormatInt(names.Add(1), 10)
}

// names counts those of this process.
var names atomic.Int64

func TestEarsHear(t *testing.T) {
	for _, c := range []struct {
		do   string
		open func() (*ear, error)
	}{
		{"tcp", func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") }},
		{"dns", func() (*ear, error) { return listenDNS("127.0.0.1:0", "secret") }},
		{"socket", func() (*ear, error) { return listen("unix", "@"+uniqueName(t), "secret") }},
	} {
		e := open(t, c.open)
		p := e.probe(probe{try: try{Do: c.do, At: e.address}, judge: func(outcome) (Result, string) { return Pass, "refused" }})
		if !p.controlled {
			t.Fatalf("%s: %s", c.do, p.control)
		}
		if result, detail := p.judge(outcome{}); result != Pass {
			t.Errorf("%s: %s, %s; want a pass where nobody came", c.do, result, detail)
		}
		// The canary says that it was refused, and yet the listener was reached.
		if p := p.tryOutside(); !p.controlled {
			t.Fatalf("%s: %s", c.do, p.control)
		}
		if result, detail := p.judge(outcome{}); result != Fail {
			t.Errorf("%s: %s, %s; want a failure where somebody came", c.do, result, detail)
		}
		if result, _ := p.judge(outcome{}); result != Pass {
			t.Errorf("%s: it was counted twice", c.do)
		}
		if err := e.close(); err != nil {
			t.Fatal(err)
		}
		if result, detail := p.judge(outcome{}); result != Inconclusive {
			t.Errorf("%s: %s, %s; want nothing proven by a deaf ear", c.do, result, detail)
		}
	}
}

// Whoever says nothing is heard all the same.
func TestEarsHearTheSilent(t *testing.T) {
	e := open(t, func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") })
	c, err := net.Dial("tcp", e.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if n, err := e.heard(); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

func TestControlOfADeafEar(t *testing.T) {
	e := open(t, func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") })
	other := open(t, func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") })
	if p := e.probe(tcpProbe("127.0.0.1", portOf(t, other))); p.controlled {
		t.Errorf("what reached another listener is taken for a control: %s", p.control)
	}
}

func portOf(t *testing.T, e *ear) string {
	t.Helper()
	_, port, err := net.SplitHostPort(e.address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestReplyTakesAnything(t *testing.T) {
	for _, asked := range [][]byte{nil, {}, make([]byte, 11), make([]byte, 16), slices.Repeat([]byte{0xff}, dnsMax)} {
		if answer := reply(asked); answer != nil {
			t.Errorf("%d bytes are answered", len(asked))
		}
	}
	if answer := reply(question(7)); len(answer) != len(question(7))+16 || answer[1] != 7 || answer[2]&dnsResponse == 0 {
		t.Errorf("% x", answer)
	}
}

// Each address of a service and its name are tried; those that do not answer are left out where one does.
func TestService(t *testing.T) {
	e := open(t, func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") })
	port := portOf(t, e)
	run := &test{}
	var shown []string
	for _, p := range run.service(t.Context(), Target{Host: "localhost", Port: port}) {
		if !p.controlled {
			t.Errorf("%s: %s", p.target, p.control)
		}
		shown = append(shown, p.check+" "+p.target)
	}
	if want := []string{"tcp 127.0.0.1:" + port, "tcp localhost:" + port}; !slices.Equal(shown, want) {
		t.Errorf("%q, want %q", shown, want)
	}
	for _, target := range []Target{{Host: "127.0.0.1", Port: "1"}, {Host: "localhost", Port: "1"}} {
		probes := run.service(t.Context(), target)
		if len(probes) == 0 || slices.ContainsFunc(probes, func(p probe) bool { return p.controlled || p.control == "" }) {
			t.Errorf("%v: %+v", target, probes)
		}
	}
}

func TestTargetsAreTriedOnce(t *testing.T) {
	e := open(t, func() (*ear, error) { return listen("tcp", "127.0.0.1:0", "secret") })
	target := Target{Host: "127.0.0.1", Port: portOf(t, e)}
	run := &test{options: Options{Targets: []Target{target, target, {Socket: "/none"}, {Socket: "/none"}}}}
	if probes := run.targets(t.Context()); len(probes) != 2 {
		t.Errorf("%+v", probes)
	}
}
