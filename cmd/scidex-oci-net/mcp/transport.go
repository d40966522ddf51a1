package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/mcp/access"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/outputs/connlimit"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

const (
	// mostMessage bounds a message of the client, in bytes.
	mostMessage = 16 << 20
	// mostConnections bounds those over HTTP with the key: a stream of notifications has one of its own. mostStrangers bounds the others.
	mostConnections = 256
	mostStrangers   = 32
	// idle is when a session over HTTP whose client is silent ends, and an idle connection.
	idle = 30 * time.Minute
	// headTime bounds how long the head of a request takes, and a connection without the key.
	headTime = 10 * time.Second
	// lastTime bounds how long the last answers take: a stream of notifications does not end by itself.
	lastTime = 2 * time.Second
)

// transport serves a client until it has gone or ctx ends.
type transport func(ctx context.Context, t *tools) error

// stdio serves the client that has started this process.
func stdio(p *command.Program) transport {
	return func(ctx context.Context, t *tools) error {
		to := newPipes(p.Stdin, p.Stdout.File)
		running, stop := context.WithCancel(context.WithoutCancel(ctx))
		defer stop()
		defer context.AfterFunc(ctx, func() {
			to.open.Wait()
			stop()
		})()
		err := t.server().Run(running, to)
		if ctx.Err() != nil || errors.Is(err, syscall.EPIPE) || errors.Is(err, io.EOF) {
			return nil // drained, or the client has gone
		}
		if err != nil {
			return fmt.Errorf("mcp: %w", err)
		}
		return nil
	}
}

// overHTTP serves clients that have the key, at /mcp.
func overHTTP(p *command.Program, address, keyFile string) transport {
	return func(ctx context.Context, t *tools) error {
		key, err := access.ReadKey(keyFile)
		if err != nil {
			return fmt.Errorf("mcp: %w", err)
		}
		l, err := net.Listen("tcp", address)
		if err != nil {
			return fmt.Errorf("mcp: --http: %w", err)
		}
		fmt.Fprintf(p.Stderr, "scidex-oci: mcp listens on http://%s/mcp\n", l.Addr())
		if keyFile == "" {
			fmt.Fprintf(p.Stderr, "scidex-oci: its key is %s\n", key)
		}
		return serveHTTP(ctx, l, newServer(handler(t, key), t.Stores.Host.Log))
	}
}

// handler answers requests that access lets through.
func handler(t *tools, key access.Key) http.Handler {
	s := t.server()
	protocol := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{
		SessionTimeout: idle, MaxRequestBodyBytes: mostMessage, PropagateRequestCancellation: true,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", t.open.ending(checked(protocol)))
	return access.Guard(key, mostMessage, mux)
}

// checked answers a body that is no message as on pipes, with status 400.
func checked(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body) // access has read it before
		if err != nil {
			http.Error(w, "the body did not come", http.StatusBadRequest)
			return
		}
		if _, id, bad := parse(body); bad != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			_ = rpc.Refuse(w, id, bad) // the client may have gone
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

// newServer makes the server of clients over HTTP.
func newServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headTime, IdleTimeout: idle, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveHTTP serves until ctx ends.
func serveHTTP(ctx context.Context, l net.Listener, server *http.Server) error {
	limits := connlimit.Limits{Strangers: mostStrangers, Kept: mostConnections, Patience: server.ReadHeaderTimeout}
	if err := connlimit.Serve(ctx, l, server, limits, lastTime); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}
