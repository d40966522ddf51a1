package mcp

import (
	"context"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

// mostWaiting is how many notifications wait for a client that reads slowly. Further ones are left out, so that no run waits for a client.
const mostWaiting = 16

// mostPrinted bounds the part of standard output in a notification, in bytes. If more was printed since the notification before, it has
// only the end.
const mostPrinted = 1 << 10

// feed passes the events of a run on to the calls that wait for its end.
type feed struct {
	mu    sync.Mutex
	calls map[*progress]struct{}
}

// passOn passes events on to a client that has given a progress token with its call, until end is called.
func (f *feed) passOn(ctx context.Context, r *mcp.CallToolRequest) (end func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	notes := notify(ctx, r.Session, token)
	leave := f.join(notes)
	return func() {
		leave()
		notes.end()
	}
}

// join adds a call, until leave is called.
func (f *feed) join(p *progress) (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls == nil {
		f.calls = map[*progress]struct{}{}
	}
	f.calls[p] = struct{}{}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, p)
	}
}

// Put passes an event on.
func (f *feed) Put(e event.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for p := range f.calls {
		p.put(e)
	}
	return nil
}

// Finish passes nothing on: the answers have the end.
func (f *feed) Finish(result.Result) error { return nil }

// progress makes progress notifications of the events of a run. Standard output comes with what the run uses, about once a second.
type progress struct {
	mu      sync.Mutex
	ended   bool
	printed *window // standard output since the last notification
	texts   chan string
	sent    chan struct{} // closed when all are sent
}

// notify notifies a client of the progress of the call with this token, until end is called.
func notify(ctx context.Context, to *mcp.ServerSession, token any) *progress {
	p := &progress{printed: tail(mostPrinted), texts: make(chan string, mostWaiting), sent: make(chan struct{})}
	go func() {
		defer close(p.sent)
		number := 0.0
		for text := range p.texts {
			number++
			_ = to.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: number, Message: text}) // it may have gone
		}
	}()
	return p
}

// end waits until what was noted is sent, so that nothing follows the answer.
func (p *progress) end() {
	p.mu.Lock()
	p.ended = true
	close(p.texts)
	p.mu.Unlock()
	<-p.sent
}

// put notes an event.
func (p *progress) put(e event.Event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := message(e)
	switch data := e.Data.(type) {
	case event.Log:
		p.print(data)
	case event.Usage:
		text += p.output()
	}
	if text == "" || p.ended {
		return
	}
	select {
	case p.texts <- text:
	default:
	}
}

// print keeps a part of standard output.
func (p *progress) print(part event.Log) {
	if part.Stream != "stdout" {
		return
	}
	text := part.Base64
	if part.Text != nil {
		text = []byte(*part.Text)
	}
	_, _ = p.printed.Write(text) // it never fails
}

// output is the end of what was printed since the last notification.
func (p *progress) output() string {
	part := p.printed.part()
	if part.Text == "" {
		return ""
	}
	p.printed = tail(mostPrinted)
	if part.Offset > 0 {
		return "; it printed, at the end:\n" + part.Text
	}
	return "; it printed:\n" + part.Text
}

// message is what an event is to a person.
func message(e event.Event) string {
	switch data := e.Data.(type) {
	case event.Created:
		return fmt.Sprintf("run %s@%d is created", e.ID, data.Attempt)
	case event.Usage:
		return fmt.Sprintf("run %s: %s, %s of processor time, %s of memory", e.ID, format.Duration(data.ElapsedMS), format.Duration(data.CPUMS), format.Size(data.MemoryBytes))
	case event.Exited:
		return fmt.Sprintf("run %s has ended with exit code %d; its outputs are read", e.ID, data.ExitCode)
	case event.Harvested:
		return fmt.Sprintf("run %s has %d outputs; they are committed", e.ID, data.Outputs)
	}
	if e.Type == event.TypeStarted {
		return fmt.Sprintf("run %s has started", e.ID)
	}
	return ""
}
