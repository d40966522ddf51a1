// Package ui is a web application on this host's loopback for one person: it shows the runs of a catalog, follows active
// runs and stops them. It shows the files of untrusted analyses in a browser that other pages and other users' programs
// reach too:
//
//   - the URL proves that the client was given it (key.go), and guards (guard.go) refuse requests that other sites make
//     the browser send;
//   - pages are those of outputs/report, which execute nothing; each page's policy names the one script that may run
//     (header.go);
//   - contents of outputs are downloads and are never shown (download.go).
//
// docs/ui.md says what it protects against, docs/adr/0029 why.
package ui

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/connlimit"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Runs is the source of the runs.
type Runs interface {
	// List is that of the catalog, with runs prepared for display.
	List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error)
	// Find is that of the catalog.
	Find(ctx context.Context, name string) (catalog.Run, error)
	// Result is what the page of a run shows.
	Result(ctx context.Context, run catalog.Run) (result.Result, error)
}

// Files reads outputs and contents.
type Files interface {
	// Outputs is that of the catalog.
	Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error
	// Output is that of the catalog.
	Output(ctx context.Context, key catalog.Key, path []byte) (outputs.Entry, error)
	// Open is that of a blob store: the read that reaches the end returns an error other than io.EOF if the contents do not
	// match the digest.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// Life watches and stops runs that have not ended.
type Life interface {
	// Look returns the current status of a run.
	Look(ctx context.Context, run catalog.Run) Active
	// Logs writes a run's standard output and standard error so far.
	Logs(ctx context.Context, run catalog.Run, stdout, stderr io.Writer) error
	// Stop requests the end of a run and waits for it until ctx ends. An error says why it cannot.
	Stop(ctx context.Context, run catalog.Run) error
}

// Active is an active run.
type Active struct {
	State     string // as `ls` words it
	Here      bool   // it runs on this host and can be stopped from here
	ElapsedMS int64
	Use       *Use // nil without a control group
}

// Use is what a run uses now.
type Use struct{ CPUMS, MemoryBytes, Processes int64 }

// Stores are what the application reads, watches and stops.
type Stores struct {
	Runs  Runs
	Files Files
	Life  Life
}

// Limits on requests. A client without the proof is refused early.
const (
	connectionsMax = 64
	strangersMax   = 16       // connections of those
	headerMax      = 16 << 10 // bytes; net/http adds 4 KiB
	formMax        = 4 << 10  // bytes
	pagesAtOnce    = 4        // rendered at a time
	streamsMax     = 16

	headerTimeout   = 5 * time.Second
	readTimeout     = 10 * time.Second
	pageTimeout     = 10 * time.Second // to render
	writeTimeout    = 30 * time.Second // for a page, or a part of a download
	idleTimeout     = 2 * time.Minute
	shutdownTimeout = 3 * time.Second // for answers in progress at shutdown
)

// Server is the application on one listener.
type Server struct {
	stores   Stores
	listener net.Listener
	host     string // as in a browser's URL
	key      key
	log      *slog.Logger
	guards   []guard
	pages    chan struct{}
	streams  chan struct{}
	tick     time.Duration // between two reads of the active runs
}

// New makes a server for a listener, which must be on the loopback. Serve starts it.
func New(listener net.Listener, stores Stores, log *slog.Logger) *Server {
	return &Server{
		stores: stores, listener: listener, host: hostOf(listener.Addr()), key: newKey(), log: log, guards: guards(),
		pages: make(chan struct{}, pagesAtOnce), streams: make(chan struct{}, streamsMax), tick: 2 * time.Second,
	}
}

// hostOf is the address as in the header Host: without the scheme's default port (RFC 9110, 7.2).
func hostOf(address net.Addr) string {
	host := address.String()
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.Port == 80 {
		return host[:len(host)-len(":80")]
	}
	return host
}

// URL is the address to open. It gives full access to the application.
func (s *Server) URL() string { return "http://" + s.host + s.key.root() }

// Serve answers until ctx ends, then ends open requests. It closes the listener and leaves nothing running.
func (s *Server) Serve(ctx context.Context) error {
	base, end := context.WithCancel(ctx)
	defer end()
	server := &http.Server{
		Handler: s, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		DisableGeneralOptionsHandler: true, MaxHeaderBytes: headerMax, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // client errors
	}
	limits := connlimit.Limits{Strangers: strangersMax, Kept: connectionsMax, Patience: readTimeout}
	return connlimit.Serve(ctx, s.listener, server, limits, shutdownTimeout)
}
