package metrics

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/scidex-ai/scidex-oci/outputs/connlimit"
)

// Limits of a server for its clients, which need not authenticate.
const (
	connections   = 32 // at once that are answered, and as many that are not
	headerBytes   = 16 << 10
	requestTime   = 5 * time.Second
	responseTime  = 10 * time.Second
	idleTime      = time.Minute
	shutdownGrace = time.Second
)

// Server answers GET /metrics and GET /healthz.
type Server struct {
	stop  context.CancelFunc
	ended chan error
}

// Serve serves a listener, which it closes at its end, until Close or the end of ctx. /healthz is 200 while healthy is true, else 503.
func (m *Metrics) Serve(ctx context.Context, l net.Listener, healthy func() bool, log *slog.Logger) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.handler(log))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !healthy() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
	server := &http.Server{
		Handler: kept(mux), MaxHeaderBytes: headerBytes, ReadTimeout: requestTime, WriteTimeout: responseTime, IdleTimeout: idleTime,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{stop: stop, ended: make(chan error, 1)}
	go func() {
		s.ended <- connlimit.Serve(ctx, l, server, connlimit.Limits{Strangers: connections, Kept: connections, Patience: idleTime}, shutdownGrace)
	}()
	return s
}

// handler answers with all metrics. The request's context bounds the query of the queue.
func (m *Metrics) handler(log *slog.Logger) http.Handler {
	answer := promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug), ErrorHandling: promhttp.ContinueOnError,
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.depth.refresh(r.Context())
		answer.ServeHTTP(w, r)
	})
}

// kept keeps the connections of requests that are answered, so that silent ones are ended for new ones.
func kept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !connlimit.Keep(r) {
			http.Error(w, "too many requests at once", http.StatusServiceUnavailable)
			return
		}
		defer connlimit.Release(r)
		next.ServeHTTP(w, r)
	})
}

// Close ends the server, and open requests after a moment. Its error is that it has ended before.
func (s *Server) Close() error {
	s.stop()
	return <-s.ended
}
