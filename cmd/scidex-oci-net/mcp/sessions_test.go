package mcp

import (
	"context"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSessionsEnd: a call that enters while its session ends is canceled too.
func TestSessionsEnd(t *testing.T) {
	var open sessions
	for range 20 {
		server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		a, b := mcp.NewInMemoryTransports()
		session, err := server.Connect(t.Context(), a, nil)
		if err != nil {
			t.Fatal(err)
		}
		client, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).Connect(t.Context(), b, nil)
		if err != nil {
			t.Fatal(err)
		}
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				first, _ := open.enter(context.Background(), session)
				calls := []context.Context{first}
				for first.Err() == nil {
					call, _ := open.enter(context.Background(), session)
					calls = append(calls, call)
				}
				for _, call := range calls {
					<-call.Done()
				}
			})
		}
		if err := client.Close(); err != nil {
			t.Fatal(err)
		}
		callers.Wait()
	}
}
