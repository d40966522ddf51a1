package mcp

import (
	"context"
	"net/http"
	"sync"
)

// sessions are the calls in progress of clients over HTTP. The library lets them go on when a client ends its session.
type sessions struct {
	mu    sync.Mutex
	calls map[string]map[*context.CancelFunc]struct{} // by session
}

// enter makes the context of a call, which ends with its session, until leave is called.
func (s *sessions) enter(ctx context.Context, session string) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancel(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]map[*context.CancelFunc]struct{}{}
	}
	if s.calls[session] == nil {
		s.calls[session] = map[*context.CancelFunc]struct{}{}
	}
	s.calls[session][&cancel] = struct{}{}
	return ctx, func() {
		cancel()
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.calls[session], &cancel); len(s.calls[session]) == 0 {
			delete(s.calls, session)
		}
	}
}

// end cancels the calls of a session.
func (s *sessions) end(session string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for cancel := range s.calls[session] {
		(*cancel)()
	}
}

// ending ends the calls of a session that its client ends.
func (s *sessions) ending(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if id := r.Header.Get("Mcp-Session-Id"); r.Method == http.MethodDelete && id != "" {
			s.end(id)
		}
		next.ServeHTTP(w, r)
	})
}
