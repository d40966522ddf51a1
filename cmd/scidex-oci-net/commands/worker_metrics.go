package commands

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/worker/metrics"
	"github.com/scidex-ai/scidex-oci/runner/pending"
)

// scraped serves a worker's metrics; without a listener they are not kept.
type scraped struct{ listener net.Listener }

// listenForScrapes listens at the address of --metrics. Early clients have to wait.
func listenForScrapes(t options.Text) (s scraped, err error) {
	if !t.Given {
		return s, nil
	}
	if _, _, err := net.SplitHostPort(t.Value); err != nil {
		return s, t.Refuse("give HOST:PORT, as 127.0.0.1:9090, or :9090 for every address of this host")
	}
	s.listener, err = net.Listen("tcp", t.Value)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		err = t.Refuse("another program has this port; give another one, or 0 for any that is free")
	case err != nil:
		err = t.Refuse("%w; give an address of this host and a free port", err)
	}
	return s, err
}

func (s scraped) close() {
	if s.listener != nil {
		_ = s.listener.Close() // the server may have
	}
}

// serve serves for a worker, which is healthy until working ends.
func (s scraped) serve(working context.Context, w *worker.Worker, b command.Build) (unserve func() error) {
	if s.listener == nil {
		return func() error { return nil }
	}
	draining := func() bool { return working.Err() != nil }
	m := metrics.New(metrics.Source{
		Capacity: w.Capacity, Jobs: w.Options.Jobs, Classes: w.Classes(), Load: w.Load, Depth: w.Queue.Depth, Workers: w.Queue.Workers,
		Waiting: func() (int, error) { return pending.Count(w.Host) }, Draining: draining,
		Version: b.Version, Commit: b.Commit, GoVersion: b.GoVersion,
	})
	w.Watch, w.Options.Rescued = m.Watch, m.Rescued
	w.Log.Info("serving metrics", "address", s.listener.Addr().String())
	return m.Serve(context.WithoutCancel(working), s.listener, func() bool { return !draining() }, w.Log).Close
}
