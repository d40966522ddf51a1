package mcp

import (
	"context"
	"net/http"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// sessions ends the runs and calls of a session when the session ends. The library lets calls go on if a client over HTTP ends its
// session.
type sessions struct {
	mu    sync.Mutex
	calls map[string]map[*context.CancelFunc]struct{} // in progress, by session
}

// enter makes the context of a call or a run. It ends when the session ends or leave is called.
func (s *sessions) enter(ctx context.Context, session *mcp.ServerSession) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	id := session.ID()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]map[*context.CancelFunc]struct{}{}
	}
	if s.calls[id] == nil {
		s.calls[id] = map[*context.CancelFunc]struct{}{}
		go s.endWith(session)
	}
	s.calls[id][&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.calls[id], &cancel)
	}
}

// endWith ends what is left of a session when it has ended. What enters afterwards begins a new list, and is ended likewise.
func (s *sessions) endWith(session *mcp.ServerSession) {
	_ = session.Wait() // why does not matter
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cancel(session.ID())
	delete(s.calls, session.ID())
}

// cancel cancels the calls and runs of a session. s.mu is held.
func (s *sessions) cancel(session string) {
	for cancel := range s.calls[session] {
		(*cancel)()
	}
}

// ending ends the calls of a session that its client ends.
func (s *sessions) ending(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); r.Method == http.MethodDelete && id != "" {
			s.mu.Lock()
			s.cancel(id)
			s.mu.Unlock()
		}
		next.ServeHTTP(w, r)
	})
}
