package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// pipes is a transport with one message a line, and its only connection. It answers a line that is no message with an error, and goes
// on. It knows whether all calls are answered; the library's transport does not, and drops answers when it closes a connection.
type pipes struct {
	lines *rpc.Lines
	in    chan received
	ended chan struct{} // closed by Close
	close func()

	mu   sync.Mutex // of to, so that lines are whole
	to   io.Writer
	open sync.WaitGroup // calls without an answer

	ids struct {
		sync.Mutex
		open map[jsonrpc.ID]bool // of these calls
	}
}

// received is a message, or why there is no other.
type received struct {
	message jsonrpc.Message
	err     error
}

func newPipes(from io.Reader, to io.Writer) *pipes {
	p := &pipes{lines: rpc.NewLines(from, mostMessage), in: make(chan received), ended: make(chan struct{}), to: to}
	p.close = sync.OnceFunc(func() { close(p.ended) })
	p.ids.open = map[jsonrpc.ID]bool{}
	return p
}

// Connect implements mcp.Transport. A read that is in progress at the end is left behind.
func (p *pipes) Connect(context.Context) (mcp.Connection, error) {
	go p.feed()
	return p, nil
}

// feed reads lines up to the end.
func (p *pipes) feed() {
	for {
		r, ok := p.next()
		if !ok {
			continue
		}
		select {
		case p.in <- r:
		case <-p.ended:
			return
		}
		if r.err != nil {
			return
		}
	}
}

// next reads a line, and answers one that is no message.
func (p *pipes) next() (r received, ok bool) {
	line, err := p.lines.Next()
	var one rpc.LineError
	if errors.As(err, &one) {
		return p.refuse(nil, rpc.Errorf(rpc.CodeParse, "%v", err))
	}
	if err != nil {
		return received{err: err}, true
	}
	message, id, bad := parse(line)
	if bad != nil {
		return p.refuse(id, bad)
	}
	if call, isRequest := message.(*jsonrpc.Request); isRequest && call.IsCall() && !p.begin(call.ID) {
		// an answer with this id would be taken for that of the other
		return p.refuse(nil, rpc.Errorf(rpc.CodeInvalidRequest, "id %s is that of a call in progress; give each an id of its own", id))
	}
	return received{message: message}, message != nil
}

// refuse answers what is not taken. A client that reads no more ends the connection.
func (p *pipes) refuse(id json.RawMessage, why *rpc.Error) (received, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	err := rpc.Refuse(p.to, id, why)
	return received{err: err}, err != nil
}

// begin notes a call, unless one of its id is in progress.
func (p *pipes) begin(id jsonrpc.ID) bool {
	p.ids.Lock()
	defer p.ids.Unlock()
	if p.ids.open[id] {
		return false
	}
	p.ids.open[id] = true
	p.open.Add(1)
	return true
}

// Read implements mcp.Connection.
func (p *pipes) Read(ctx context.Context) (jsonrpc.Message, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.ended:
		return nil, io.EOF
	case r := <-p.in:
		return r.message, r.err
	}
}

// Write implements mcp.Connection.
func (p *pipes) Write(ctx context.Context, m jsonrpc.Message) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	line, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return err
	}
	if answer, ok := m.(*jsonrpc.Response); ok {
		p.ids.Lock()
		delete(p.ids.open, answer.ID)
		p.ids.Unlock()
		defer p.open.Done()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err = p.to.Write(append(line, '\n'))
	return err
}

// Close implements mcp.Connection. The streams are the process' own.
func (p *pipes) Close() error {
	p.close()
	return nil
}

// SessionID implements mcp.Connection.
func (p *pipes) SessionID() string { return "" }
