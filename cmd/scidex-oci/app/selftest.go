package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/report"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest/target"
)

func newSelftestCommand(p *command.Program) *cli.Command {
	o := &selftestOptions{run: runflags.NewOptions(p)}
	return &cli.Command{
		Name:  "selftest",
		Usage: "prove on this host that an analysis reaches nothing",
		UsageText: `scidex-oci selftest [--target URL|HOST:PORT|SOCKET]... [--json] [flags of run]
scidex-oci selftest --last [--json]`,
		Description: `Runs analyses of its own with the flags that yours have, which try to reach the targets, listeners of
ours on every address of the host, sockets in whatever is bound, files, processes, another run and more than
their limits. Each target is first reached from outside: one that does not answer there proves nothing and
is inconclusive. Prints a line for each check and keeps the report in the catalog.

A target is HOST:PORT, a URL (postgres, http, https, tcp), the absolute path of a socket, or @NAME for an
abstract one. Without --target: --db where it is PostgreSQL, localhost:5432, and the sockets of PostgreSQL
in /run/postgresql, /var/run/postgresql and /tmp.

With --allow-host it also asks the proxy of the run for all of these, for cloud metadata and for a host that is
not permitted.

Results: pass; FAIL, it is within reach; inconclusive; accepted, you have asked to do without.

Exit codes, those of the shown report with --last: 0 everything passed or was accepted, 1 something is
within reach or inconclusive, 125 it could not be made, 129, 130, 131 and 143 stopped by SIGHUP, SIGINT,
SIGQUIT or SIGTERM.`,
		Flags: o.flags(p),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return runSelftest(c, p, o)
		},
	}
}

// newCanaryCommand is what selftest runs in its sandboxes.
func newCanaryCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      canary.Command,
		Hidden:    true,
		Usage:     "be the analysis of a selftest",
		ArgsUsage: "ID",
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			return canary.Run(p.Stdout, given[0])
		},
	}
}

// confiningFlags are the flags of run that confine an analysis.
func confiningFlags(p *command.Program, o *options.Run) []*options.Flag {
	// What to run, its name and its outputs are set by selftest.
	flags := options.Without(o.Analysis.Flags(), "id", "script", "stage", "export", "output", "exclude", "digest-inputs", "deterministic", "keep", "preload", "warm")
	return append(flags, o.AuditFlag(), p.Options.MinFreeFlag())
}

// selftestOptions are those, and its own.
type selftestOptions struct {
	run     *options.Run
	targets []target.Target
	last    bool
}

func (o *selftestOptions) flags(p *command.Program) []cli.Flag {
	return options.List(append(confiningFlags(p, o.run),
		options.Values(&o.targets, "target", "prove that `TARGET` is out of reach: HOST:PORT, a URL, the path of a socket or @NAME; repeatable", readTargets),
		options.Bool(&o.last, "last", "print the newest report of the catalog and test nothing"),
		options.Bool(&o.run.JSON, "json", "print the report as one JSON object"),
	)...)
}

func readTargets(t options.Text) (all []target.Target, err error) {
	for _, text := range t.Values {
		targets, err := target.Parse(text)
		if err != nil {
			return nil, t.Wrap(err)
		}
		all = append(all, targets...)
	}
	return all, nil
}

func runSelftest(c *cli.Context, p *command.Program, asked *selftestOptions) error {
	return selftestOf(p, c, asked, func(o selftestRequest) error {
		if asked.last {
			return o.showLast(c.Context, p)
		}
		return o.perform(c.Context, p)
	})
}

// selftestRequest is a selftest as the command line requests it.
type selftestRequest struct {
	runflags.Request
	stores  *stores.Stores
	targets []target.Target
}

// selftestOf reads the command line and opens catalog and blob store for it.
func selftestOf(p *command.Program, c *cli.Context, asked *selftestOptions, act func(selftestRequest) error) (err error) {
	if err := p.Load(c, asked.run.Flags(p.Options)...); err != nil {
		return err
	}
	o := selftestRequest{targets: asked.targets}
	k := runflags.NewParser(p, c, asked.run)
	k.Words = []string{canary.Command} // what will be run
	if o.Request, err = k.Options(); err != nil {
		return err
	}
	if o.targets == nil {
		if o.targets, err = usualTargets(p.Options.DB); err != nil {
			return err
		}
	}
	if o.Analysis, err = k.Analysis(c.Context, nil); err == nil {
		err = o.Analysis.Validate()
	}
	if err != nil {
		return err
	}
	if o.stores, err = p.OpenStores(c.Context, p.Stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, o.stores.Close()) }()
	return act(o)
}

// usualTargets are the default targets.
func usualTargets(db options.Text) (all []target.Target, err error) {
	scheme, _, _ := strings.Cut(db.Value, "://")
	if scheme == "postgres" || scheme == "postgresql" {
		if all, err = target.Parse(db.Value); err != nil {
			return nil, db.Wrap(err)
		}
	}
	return append(all, target.Default), nil
}

// perform tests, keeps the report and prints it.
func (o selftestRequest) perform(ctx context.Context, p *command.Program) error {
	stop, done := command.StopSignals()
	defer done()
	print := newReportPrinter(p)
	options := selftest.Options{Analysis: o.Analysis, NoAudit: o.NoAudit, Targets: o.targets, Stop: stop}
	if !o.JSON {
		options.Each = print.check
	}
	tested, err := selftest.Run(ctx, o.stores.Host, options)
	if err != nil {
		return stoppedStatus(p.Stderr, err, "nothing is proven")
	}
	kept := o.keep(ctx, tested)
	if o.JSON {
		err = screen.WriteJSON(p.Stdout, tested)
	} else {
		print.selftest(tested)
	}
	return cmp.Or(kept, err, reportStatus(tested.Passed))
}

// keep adds the report to the catalog, a failed one too.
func (o selftestRequest) keep(ctx context.Context, tested report.Report) error {
	text, err := json.Marshal(tested)
	if err == nil {
		err = o.stores.Selftests.AddSelftest(ctx, catalog.Selftest{
			At: tested.Time, Host: tested.Host, ToolVersion: tested.ToolVersion, Passed: tested.Passed, Report: text,
		})
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}
