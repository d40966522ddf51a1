package mcpcmd

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// answered is a transport that knows whether all calls are answered: the library drops answers once it closes a connection.
type answered struct {
	mcp.Transport
	open sync.WaitGroup // calls without an answer
}

// Connect implements mcp.Transport.
func (a *answered) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := a.Transport.Connect(ctx)
	return &countedConnection{c, &a.open}, err
}

// countedConnection counts calls and answers.
type countedConnection struct {
	mcp.Connection
	open *sync.WaitGroup
}

func (c *countedConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	m, err := c.Connection.Read(ctx)
	if r, ok := m.(*jsonrpc.Request); ok && r.IsCall() {
		c.open.Add(1)
	}
	return m, err
}

func (c *countedConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	err := c.Connection.Write(ctx, m)
	if _, ok := m.(*jsonrpc.Response); ok {
		c.open.Done()
	}
	return err
}
