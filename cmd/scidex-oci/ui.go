package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/ui"
)

func newUICommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "ui",
		Usage:     "show runs in a browser on this host, and what goes on",
		UsageText: "scidex-oci ui [--listen ADDRESS:PORT]",
		Description: `Prints the address of a small web application, and serves it until a signal ends it: the runs of the catalog to search,
their pages as report makes them, comparisons, downloads, the runs that go on with what they use, and a button to stop one.
It listens on the loopback alone. The address has a secret of 256 bits in it and is good until the command ends; whoever has
it may read every run of this catalog and stop yours.`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "listen at `ADDRESS:PORT`, which must be of the loopback; port 0 is any that is free (default: 127.0.0.1:0)"},
		},
		Action: func(c *cli.Context) error {
			if _, err := words(c, 0, 0); err != nil {
				return err
			}
			return p.visit(c, func(h *house, from layers) error { return runUI(c.Context, p, h, from) })
		},
	}
}

func runUI(ctx context.Context, p *program, h *house, from layers) error {
	listener, err := listenForUI(from)
	if err != nil {
		return err
	}
	signals, done := stops()
	defer done()
	ctx, end := context.WithCancel(ctx)
	defer end()
	go func() {
		select {
		case <-signals:
			end()
		case <-ctx.Done():
		}
	}()
	server := ui.New(listener, ui.House{Runs: uiRuns{h}, Files: uiFiles{h}, Life: uiLife{h}}, h.runner.Log)
	if _, err := fmt.Fprintln(p.stdout, server.URL()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.Serve(ctx)
}

// listenForUI takes the address of --listen, where nobody but programs of this host can come.
func listenForUI(from layers) (net.Listener, error) {
	address := "127.0.0.1:0"
	in, given := from.given("listen")
	if given {
		address = in.text("listen")
	}
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().IsLoopback() || at.Addr().Is4In6() || at.Addr().Zone() != "" {
		return nil, fmt.Errorf("%s %q: give an address of the loopback and a port, as 127.0.0.1:0 or [::1]:8080; from another host come by \"ssh -L\"", in.label("listen"), address)
	}
	listener, err := net.Listen("tcp", at.String())
	switch {
	case err == nil:
		return listener, nil
	case !given:
		return nil, err
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s %q: another program has this port; give another one, or 0 for any that is free", in.label("listen"), address)
	}
	return nil, fmt.Errorf("%s %q: %w; give an address of the loopback and a free port", in.label("listen"), address, err)
}
