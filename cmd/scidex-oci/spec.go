package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"
)

func newSpecCommand(p *program) *cli.Command {
	flags := runFlags(p.options)
	for _, flag := range flags {
		// They are taken, so that "run" can be changed to "spec" in any line, and have nothing to do here.
		if f, ok := flag.(*cli.BoolFlag); ok {
			f.Hidden = true
		}
	}
	return &cli.Command{
		Name:  "spec",
		Usage: "print the OCI config.json that run would use, or write a bundle",
		UsageText: `scidex-oci spec [flags of run] [--] COMMAND [ARG...]
scidex-oci spec --bundle DIR [flags of run] [--] COMMAND [ARG...]`,
		Flags: append(flags,
			&cli.StringFlag{Name: "bundle", Usage: "write a bundle into the directory `DIR` that runc can run, in place of printing"}),
		Action: func(c *cli.Context) error { return runSpec(c, p) },
	}
}

func runSpec(c *cli.Context, p *program) (err error) {
	from, err := p.layers(c)
	if err != nil {
		return err
	}
	s := &session{program: p, clerk: p.clerk(c, from), screen: &console{to: p.stderr}}
	if s.order, err = s.clerk.options(); err != nil {
		return err
	}
	if err := s.prepare(c.Context); err != nil {
		return errors.Join(err, s.close())
	}
	defer func() { err = errors.Join(err, s.close()) }()
	a := s.order.analysis
	if bundle, ok := from.given("bundle"); ok {
		if bundle.text("bundle") == "" {
			return fmt.Errorf("%s \"\": is empty; give a directory", bundle.label("bundle"))
		}
		return s.house.runner.Bundle(c.Context, a, absolute(bundle.dir, bundle.text("bundle")))
	}
	config, err := s.house.runner.Spec(c.Context, a)
	if err != nil {
		return err
	}
	return printSpec(p.stdout, config)
}

func printSpec(to io.Writer, config []byte) error {
	if len(config) == 0 || config[len(config)-1] != '\n' {
		config = append(config, '\n')
	}
	_, err := to.Write(harmlessJSON(config))
	return err
}
