// Package servecmd has the command serve: an engine that other programs ask for runs by JSON-RPC.
package servecmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/engine/rpc"
)

// New makes the command serve.
func New(p *command.Program) *cli.Command {
	o := &serveOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:      "serve",
		Usage:     "run analyses for another program, by JSON-RPC",
		UsageText: "scidex-oci serve --stdio [flags of run] [--jobs N]",
		Description: `Reads requests of JSON-RPC 2.0 from standard input, one object a line, and writes answers and notifications to standard
output. The methods are run, submit, wait, stop, list, show and cancel; docs/serve.md explains them, and
docs/schema/serve.json has their parameters. The parameters of run and submit are the fields of a
manifest. The flags of this command are their defaults. Relative paths are relative to the current directory.

Runs go on side by side while their limits together have room on this machine. The others wait in order.

End-of-file stops the runs of the caller, but for those with "detached": true, and cancels what waits. The first SIGINT,
SIGQUIT, SIGTERM or SIGHUP drains: no new runs are taken, what waits is canceled, what runs comes to its end. The
second one stops what runs, the third ends this process at once.

Exit codes of serve: 0 ended by end-of-file or drained, 125 it could not serve.`,
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
	if !o.stdio {
		return command.Usagef("serve: give --stdio to serve the program that starts this one")
	}
	s, err := newSession(c, p, o)
	if err != nil {
		return err
	}
	return s.close(s.stdio(c.Context))
}

// stdio serves standard input and output.
func (s *session) stdio(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer s.handleSignals(stop)()
	conn := rpc.NewConn(s.program.Stdin, s.program.Stdout.File)
	peer := s.newPeer(conn)
	err := conn.Serve(ctx, peer.handle, peer.caller.Close)
	s.engine.Wait() // for detached runs
	if errors.Is(err, syscall.EPIPE) {
		return nil // the caller has gone
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
