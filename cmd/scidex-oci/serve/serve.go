// Package serve has the command serve, an engine that other programs ask for runs by JSON-RPC, and the Service that it and mcp open:
// stores, a pool of supervisors and the engine, until a signal ends them.
package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// New makes the command serve.
func New(p *command.Program) *cli.Command {
	o := &serveOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:      "serve",
		Usage:     "run analyses for another program, by JSON-RPC",
		UsageText: "scidex-oci serve --stdio|--socket PATH [flags of run] [--jobs N]",
		Description: `Takes requests of JSON-RPC 2.0, one object a line, from standard input or from the callers of a socket, and writes answers
and notifications to standard output or to the caller. The methods are run, submit, wait, stop, list, show, logs, outputs, read, export, doctor and cancel; docs/serve.md
explains them, and docs/schema/serve.json has their parameters. The parameters of run and submit are the fields of a
manifest. The flags of this command are their defaults. Relative paths are relative to the current directory.

Runs go on side by side while their limits together have room on this machine. The others wait in order, with callers
taking turns.

A socket serves only programs of your own uid, and one engine with a socket serves a root. Without --stdio and --socket, the
socket is the one that systemd passes (ListenStream of a socket unit).

End-of-file stops the runs of the caller, except for those with "detached": true, and cancels what waits. The first SIGINT,
SIGQUIT, SIGTERM or SIGHUP drains: no new runs are taken, what waits is canceled, what runs comes to its end. The
second one stops what runs, the third ends this process at once.

Exit codes of serve: 0 ended by end-of-file of --stdio or drained, 125 it could not serve.`,
		Flags:  o.flags(p.Options),
		Action: func(c *cli.Context) error { return runServe(c, p, o) },
	}
}

func runServe(c *cli.Context, p *command.Program, o *serveOptions) error {
	if _, err := command.Args(c, 0, 0); err != nil {
		return err
	}
	if err := cmp.Or(p.Load(c), runflags.Refuse(c.Command.Flags, "serve", notOfServe)); err != nil {
		return err
	}
	if o.stdio && o.path != "" {
		return command.Usagef("serve: --stdio and --socket are two ways to be asked; give one of them")
	}
	if o.stdio {
		s, err := newServer(c, p, o)
		if err != nil {
			return err
		}
		return s.Close(s.stdio(c.Context))
	}
	return serveSocket(c, p, o)
}

// serveSocket serves the socket of --socket or of systemd.
func serveSocket(c *cli.Context, p *command.Program, o *serveOptions) error {
	settings, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return err
	}
	l, err := activated(p.Env)
	if err != nil {
		return err
	}
	if l == nil && o.path == "" {
		return command.Usagef("serve: give --stdio to serve the program that starts this one, or --socket PATH")
	}
	if l != nil {
		o.path = l.Addr().String()
	}
	locked, err := lockRoot(settings.Root, o.path)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	defer locked.Close()
	if l == nil {
		made, err := listen(o.path)
		if err != nil {
			return fmt.Errorf("serve: %w", err)
		}
		l = &made
	}
	defer l.Close()
	s, err := newServer(c, p, o)
	if err != nil {
		return err
	}
	s.Stores.Host.Private = append(s.Stores.Host.Private, o.path)
	return s.Close(s.socket(c.Context, *l))
}

// server serves callers with the runs of a service.
type server struct{ *Service }

func newServer(c *cli.Context, p *command.Program, o *serveOptions) (server, error) {
	s, err := NewService(c, p, ServiceOptions{Run: o.run, Jobs: o.jobs})
	return server{s}, err
}

// stdio serves standard input and output.
func (s server) stdio(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer s.HandleSignals(stop)()
	err := s.newPeer(ctx, rpc.NewConn(s.Program.Stdin, s.Program.Stdout.File)).serve(ctx)
	s.Engine.WaitAll() // for detached runs
	if errors.Is(err, syscall.EPIPE) {
		return nil // the caller has gone
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
