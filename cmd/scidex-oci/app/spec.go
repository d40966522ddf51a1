package app

import (
	"errors"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/plan"
)

func newSpecCommand(p *command.Program) *cli.Command {
	o := &specOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:  "spec",
		Usage: "print the OCI config.json that run would use, or write a bundle",
		UsageText: `scidex-oci spec [flags of run] [--] COMMAND [ARG...]
scidex-oci spec --bundle DIR [flags of run] [--] COMMAND [ARG...]`,
		Flags:  o.flags(p.Options),
		Action: func(c *cli.Context) error { return runSpec(c, p, o) },
	}
}

// specOptions are the options of spec.
type specOptions struct {
	run    *options.Run
	bundle options.Text
}

func (o *specOptions) flags(g *options.Global) []cli.Flag {
	flags := o.run.Flags(g)
	for _, flag := range flags {
		// Switches are accepted but ignored, so that "run" can be changed to "spec" in any line.
		flag.Hidden = flag.Hidden || !flag.TakesValue()
	}
	return options.List(append(flags,
		options.Given(&o.bundle, "bundle", "write a bundle into the directory `DIR` that runc can run, instead of printing"),
	)...)
}

func runSpec(c *cli.Context, p *command.Program, o *specOptions) (err error) {
	if err := p.Load(c); err != nil {
		return err
	}
	s := &invocation{program: p, parser: runflags.NewParser(p, c, o.run), screen: screen.NoTerminal(p.Stderr)}
	if s.request, err = s.parser.Options(); err != nil {
		return err
	}
	if err := s.prepare(c.Context); err != nil {
		return errors.Join(err, s.close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	a := s.request.Analysis
	if o.bundle.Given {
		if o.bundle.Value == "" {
			return o.bundle.Refuse("is empty; give a directory")
		}
		return plan.Bundle(c.Context, s.stores.Host, a, o.bundle.Path(""))
	}
	config, err := plan.Spec(c.Context, s.stores.Host, a)
	if err != nil {
		return err
	}
	return printSpec(p.Stdout, config)
}

func printSpec(to io.Writer, config []byte) error {
	if len(config) == 0 || config[len(config)-1] != '\n' {
		config = append(config, '\n')
	}
	_, err := to.Write(screen.EscapeJSON(config))
	return err
}
