// Package ui is a web application on this host's loopback for one person: the runs of a catalog as pages, those that go on
// as they go on, and a way to end them. It shows what anybody's analyses have left, to a browser that other pages and other
// people's programs reach too:
//
//   - whoever asks proves by the address that they were given it (key.go), and guards (guard.go) refuse what a browser
//     asks for somebody else;
//   - pages are those of outputs/report, of which nothing executes, and the policy of each page names the one script that
//     may (header.go);
//   - contents of outputs leave as downloads and are never shown (download.go).
//
// docs/ui.md tells what it protects from, and docs/adr/0029 why in this way.
package ui

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/net/netutil"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Runs are what the pages list and tell.
type Runs interface {
	// List is that of the catalog, with runs as they are to be shown.
	List(ctx context.Context, filter catalog.Filter) ([]catalog.Run, error)
	// Find is that of the catalog.
	Find(ctx context.Context, name string) (catalog.Run, error)
	// Result is what the page of a run tells.
	Result(ctx context.Context, run catalog.Run) (result.Result, error)
}

// Files are outputs and their contents.
type Files interface {
	// Outputs is that of the catalog.
	Outputs(ctx context.Context, key catalog.Key, yield func(outputs.Entry) bool) error
	// Output is that of the catalog.
	Output(ctx context.Context, key catalog.Key, path []byte) (outputs.Entry, error)
	// Open is that of a blob store: the read that reaches the end returns an error other than io.EOF where the contents are
	// not those of the digest.
	Open(ctx context.Context, sha256 string) (io.ReadCloser, error)
}

// Life is what can be seen of runs that have not ended, and done to them.
type Life interface {
	// Look tells how a run is doing at this moment.
	Look(ctx context.Context, run catalog.Run) Going
	// Logs writes what there is so far of a run's standard output and standard error.
	Logs(ctx context.Context, run catalog.Run, stdout, stderr io.Writer) error
	// Stop asks a run to end, and waits for that as long as ctx lasts. An error says why it cannot be asked.
	Stop(ctx context.Context, run catalog.Run) error
}

// Going is a run that has not ended.
type Going struct {
	State     string // in words, as `ls` says it
	Here      bool   // it lives on this host, and can be stopped from here
	ElapsedMS int64
	Use       *Use // nil where no control group counts
}

// Use is what a run uses at this moment.
type Use struct{ CPUMS, MemoryBytes, Processes int64 }

// House is all that the application works on.
type House struct {
	Runs  Runs
	Files Files
	Life  Life
}

// Bounds on what one may ask at a time. Whoever asks has the address, or is refused early.
const (
	connectionsMax = 64
	headerMax      = 16 << 10 // bytes; net/http adds 4 KiB
	formMax        = 4 << 10  // bytes
	pagesAtOnce    = 4        // that are being made
	streamsMax     = 16

	headerPatience = 5 * time.Second
	readPatience   = 10 * time.Second
	pagePatience   = 10 * time.Second // to make one
	writePatience  = 30 * time.Second // for a page, or a part of a download
	idlePatience   = 2 * time.Minute
	farewell       = 3 * time.Second // for what is being answered when the end comes
)

// Server is the application on one listener.
type Server struct {
	house    House
	listener net.Listener
	host     string // as a browser names it
	key      key
	log      *slog.Logger
	guards   []guard
	pages    chan struct{}
	streams  chan struct{}
	tick     time.Duration // from one look at what goes on to the next
}

// New makes a server for a listener, which must be one of the loopback. It answers from Serve on.
func New(listener net.Listener, house House, log *slog.Logger) *Server {
	return &Server{
		house: house, listener: listener, host: hostOf(listener.Addr()), key: newKey(), log: log, guards: guards(),
		pages: make(chan struct{}, pagesAtOnce), streams: make(chan struct{}, streamsMax), tick: 2 * time.Second,
	}
}

// hostOf is the address as the header Host has it: without the port where that is the scheme's own (RFC 9110, 7.2).
func hostOf(address net.Addr) string {
	host := address.String()
	if tcp, ok := address.(*net.TCPAddr); ok && tcp.Port == 80 {
		return host[:len(host)-len(":80")]
	}
	return host
}

// URL is the address to open. Whoever has it may do all that the application can.
func (s *Server) URL() string { return "http://" + s.host + s.key.root() }

// Serve answers until ctx ends, and then ends whatever is being answered. It closes the listener, and leaves nothing running.
func (s *Server) Serve(ctx context.Context) error {
	base, end := context.WithCancel(ctx)
	defer end()
	server := &http.Server{
		Handler: s, BaseContext: func(net.Listener) context.Context { return base },
		ReadHeaderTimeout: headerPatience, ReadTimeout: readPatience, WriteTimeout: writePatience, IdleTimeout: idlePatience,
		DisableGeneralOptionsHandler: true, MaxHeaderBytes: headerMax, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug), // what a client did wrong
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(netutil.LimitListener(s.listener, connectionsMax)) }()
	select {
	case err := <-served:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
	defer cancel()
	err := server.Shutdown(late)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if last := <-served; !errors.Is(last, http.ErrServerClosed) {
		err = errors.Join(err, last)
	}
	return err
}
