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

// mostWaiting is how many notifications wait for a client that reads slowly. More are left out: a run does not wait for them.
const mostWaiting = 16

// progress passes the events of a run on as progress notifications.
type progress struct {
	mu    sync.Mutex
	ended bool
	texts chan string
	sent  chan struct{} // closed when all are sent
}

// notify notifies a client of the progress of the call with this token, until end is called.
func notify(ctx context.Context, to *mcp.ServerSession, token any) *progress {
	p := &progress{texts: make(chan string, mostWaiting), sent: make(chan struct{})}
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

// Put notes an event. What an analysis writes is no progress.
func (p *progress) Put(e event.Event) error {
	text := message(e)
	p.mu.Lock()
	defer p.mu.Unlock()
	if text == "" || p.ended {
		return nil
	}
	select {
	case p.texts <- text:
	default:
	}
	return nil
}

// Finish notifies of nothing: the answer has the end.
func (p *progress) Finish(result.Result) error { return nil }

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
