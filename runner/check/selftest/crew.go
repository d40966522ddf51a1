package selftest

import (
	"context"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/standby"
	"github.com/scidex-ai/scidex-oci/spec"
)

// crew are the canaries that live, and the wish to stop them all.
type crew struct {
	mu      sync.Mutex
	members map[*member]bool
	stopped *request.StopSignal
	ended   chan struct{}
	heard   sync.WaitGroup
}

func newCrew(stop <-chan request.StopSignal) *crew {
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

func (c *crew) stop(signal request.StopSignal) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped == nil {
		c.stopped = &signal
	}
	for m := range c.members {
		m.tell(signal)
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
func (t *test) send(ctx context.Context, role string, a spec.Analysis, o orders, begun *standby.Standby) (*member, error) {
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
	m := &member{id: o.ID, stop: make(chan request.StopSignal, 2), ended: make(chan struct{})}
	m.speech.lines = make(chan []byte, 2)
	t.report.Runs = append(t.report.Runs, m.id)
	request := request.Request{
		Analysis: t.canary(a, role), NoAudit: t.options.NoAudit,
		Stdout: &m.speech, Stderr: &m.words, Stop: m.stop, Begun: begun,
	}
	t.crew.mu.Lock()
	t.crew.members[m] = true
	t.crew.mu.Unlock()
	overdue := time.AfterFunc(time.Duration(a.Timeout+a.Grace)+overdueAfter, m.end)
	go func() {
		m.result, m.err = runner.Run(ctx, t.runner, request)
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
