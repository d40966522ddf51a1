package selftest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/spec"
)

// crew are the canaries that live, and the wish to stop them all.
type crew struct {
	mu      sync.Mutex
	members map[*member]bool
	stopped *runner.StopSignal
	ended   chan struct{}
	heard   sync.WaitGroup
}

// member is the run of one canary.
type member struct {
	id     string
	speech speech
	words  head // the beginning of its standard error
	stop   chan runner.StopSignal
	ended  chan struct{}
	result runner.Result // once it has ended
	err    error
}

func newCrew(stop <-chan runner.StopSignal) *crew {
	c := &crew{members: map[*member]bool{}, ended: make(chan struct{})}
	c.heard.Go(func() {
		for {
			select {
			case signal := <-stop:
				c.stop(signal)
			case <-c.ended:
				return
			}
		}
	})
	return c
}

func (c *crew) stop(signal runner.StopSignal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = &signal
	}
	for m := range c.members {
		m.tell(signal)
	}
}

// tell passes a signal on; more than the two that a run acts on are dropped.
func (m *member) tell(signal runner.StopSignal) {
	select {
	case m.stop <- signal:
	default:
	}
}

// close ends all that still live and waits for them.
func (c *crew) close() error {
	close(c.ended)
	c.heard.Wait()
	c.mu.Lock()
	living := maps.Clone(c.members)
	c.mu.Unlock()
	for m := range living {
		m.end()
		<-m.ended
	}
	return nil
}

// overdueAfter is how long a run may go on after its timeout: where that does not hold, the test must end
// all the same.
const overdueAfter = 20 * time.Second

// end asks a run to end, and insists.
func (m *member) end() {
	for range 2 {
		m.tell(runner.StopSignal{ExitCode: 143, Name: "SIGTERM"})
	}
}

// interrupted is the error of a test that was stopped, or nil.
func (c *crew) interrupted() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		return nil
	}
	return &StoppedError{*c.stopped}
}

// send starts a canary with the limits of a. Its role ends its id. begun may be nil.
func (t *test) send(ctx context.Context, role string, a spec.Analysis, o orders, begun *runner.Begun) (*member, error) {
	o.V, o.ID = 1, t.id+"-"+role
	text, err := json.Marshal(o)
	if err == nil {
		err = t.dir.write(role, text)
	}
	if err != nil {
		if begun != nil {
			begun.Drop()
		}
		return nil, err
	}
	m := &member{id: o.ID, stop: make(chan runner.StopSignal, 2), ended: make(chan struct{})}
	m.speech.lines = make(chan []byte, 2)
	t.report.Runs = append(t.report.Runs, m.id)
	request := runner.Request{Analysis: t.canary(a, role), Stdout: &m.speech, Stderr: &m.words, Stop: m.stop, Begun: begun}
	t.crew.mu.Lock()
	t.crew.members[m] = true
	t.crew.mu.Unlock()
	overdue := time.AfterFunc(time.Duration(a.Timeout+a.Grace)+overdueAfter, m.end)
	go func() {
		m.result, m.err = t.runner.Run(ctx, request)
		overdue.Stop()
		close(m.ended)
		t.crew.mu.Lock()
		delete(t.crew.members, m)
		t.crew.mu.Unlock()
	}()
	return m, t.crew.interrupted()
}

// canary is the request of a canary.
func (t *test) canary(a spec.Analysis, role string) spec.Analysis {
	a.ID = t.id + "-" + role
	a.Labels = maps.Clone(a.Labels)
	if a.Labels == nil {
		a.Labels = map[string]string{}
	}
	a.Labels[Label] = t.id
	a.Command = []string{programPath, CanaryCommand, a.ID}
	a.Inputs = append([]string(nil), a.Inputs...)
	for inside, name := range map[string]string{programPath: "canary", ordersPath: role, turnPath: "turn"} {
		a.Inputs = append(a.Inputs, spec.Input{Source: t.dir.file(name), Destination: inside}.String())
	}
	return a
}

// CanaryCommand is the word on the command line that makes this program a canary.
const CanaryCommand = "selftest-canary"

// line returns the next line of a canary, or why there is none.
func (m *member) line() ([]byte, error) {
	select {
	case line := <-m.speech.lines:
		return line, nil
	case <-m.ended:
	}
	select {
	case line := <-m.speech.lines:
		return line, nil
	default:
		return nil, fmt.Errorf("it ended without an answer: %s%s", m.result.Message, m.words.parenthesis())
	}
}

// wait waits for the end of a run. The error says that the run could not be made.
func (m *member) wait() error {
	<-m.ended
	switch {
	case m.err != nil:
		return m.err
	case m.result.State == catalog.Error, m.result.State == catalog.Lost:
		return fmt.Errorf("run %s: %s", m.id, m.result.Message)
	case m.result.Reason == runner.ReasonNotInvocable, m.result.Reason == runner.ReasonNotFound:
		return fmt.Errorf("run %s: %s; the canary is below --tmp: give a directory of a file system that is not mounted noexec", m.id, m.result.Message)
	}
	return nil
}

// speech takes what a canary writes apart into lines. There are two at most, and not long ones: what is
// beyond is no canary's.
type speech struct {
	lines  chan []byte
	rest   []byte
	excess bool // once the run has ended: it said too much
}

const maxLine = 4 << 20 // bytes

// Write never fails.
func (s *speech) Write(p []byte) (int, error) {
	for part := range bytes.Lines(p) {
		if s.excess || len(s.rest)+len(part) > maxLine {
			s.excess = true
			break
		}
		s.rest = append(s.rest, part...)
		if part[len(part)-1] != '\n' {
			break
		}
		select {
		case s.lines <- s.rest:
			s.rest = nil
		default:
			s.excess = true
		}
	}
	return len(p), nil
}

// head keeps the beginning of what is written to it.
type head struct{ kept []byte }

// Write takes all of p.
func (h *head) Write(p []byte) (int, error) {
	const most = 200 // bytes
	h.kept = append(h.kept, p[:min(len(p), most-len(h.kept))]...)
	return len(p), nil
}

// parenthesis is the first line, where there is one.
func (h *head) parenthesis() string {
	line, _, _ := strings.Cut(strings.ToValidUTF8(string(h.kept), "?"), "\n")
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}
