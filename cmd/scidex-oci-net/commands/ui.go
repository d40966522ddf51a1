package commands

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/ui"
)

// newUI makes the command ui, a web application on the loopback.
func newUI(p *command.Program) *cli.Command {
	o := &uiOptions{}
	return &cli.Command{
		Name:      "ui",
		Usage:     "show runs in a browser on this host, and what goes on",
		UsageText: "scidex-oci ui [--listen ADDRESS:PORT]",
		Description: `Prints the address of a small web application, and serves it until a signal ends it: the runs of the catalog to search,
their pages as report makes them, comparisons, downloads, the runs that go on with what they use, and a button to stop one.
It listens only on the loopback. The address has a secret of 256 bits in it and is good until the command ends; anyone who has
it may read every run of this catalog and stop yours.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runUI(c.Context, p, st, *o) })
		},
	}
}

// uiOptions are the options of ui.
type uiOptions struct {
	listen options.Text
}

func (o *uiOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.listen, "listen", "listen at `ADDRESS:PORT`, which must be of the loopback; port 0 is any that is free (default: 127.0.0.1:0)"),
	)
}

func runUI(ctx context.Context, p *command.Program, st *stores.Stores, o uiOptions) error {
	listener, err := listenForUI(o.listen)
	if err != nil {
		return err
	}
	signals, done := command.StopSignals()
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
	server := ui.New(listener, ui.Stores{Runs: uiRuns{st}, Files: uiFiles{st.Catalog, st.Blobs}, Life: uiLife{st}}, st.Host.Log)
	if _, err := fmt.Fprintln(p.Stdout, server.URL()); err != nil {
		return errors.Join(err, listener.Close())
	}
	return server.Serve(ctx)
}

// listenForUI listens at the address of --listen.
func listenForUI(t options.Text) (net.Listener, error) {
	listener, err := ui.Listen(t.Or("127.0.0.1:0"))
	switch {
	case errors.Is(err, ui.ErrAddress):
		return nil, t.Refuse("%w", err)
	case err == nil || !t.Given:
		return listener, err
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, t.Refuse("another program has this port; give another one, or 0 for any that is free")
	}
	return nil, t.Refuse("%w; give an address of the loopback and a free port", err)
}
