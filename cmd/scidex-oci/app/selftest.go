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
abstract one. Without --target: --db if it is PostgreSQL, localhost:5432, and the sockets of PostgreSQL
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
	flags := options.Without(o.Analysis.Flags(), "id", "script", "stage", "export", "output", "exclude", "digest-inputs", "deterministic", "keep", "preload")
	return append(flags, o.AuditFlag(), p.Options.MinFreeFlag())
}

// selftestOptions are those, and its own.
type selftestOptions struct {
	run     *options.Run
	targets []selftest.Target
	last    bool
}

func (o *selftestOptions) flags(p *command.Program) []cli.Flag {
	return options.List(append(confiningFlags(p, o.run),
		options.Values(&o.targets, "target", "prove that `TARGET` is out of reach: HOST:PORT, a URL, the path of a socket or @NAME; repeatable", readTargets),
		options.Bool(&o.last, "last", "print the newest report of the catalog and test nothing"),
		options.Bool(&o.run.JSON, "json", "print the report as one JSON object"),
	)...)
}

func readTargets(t options.Text) (all []selftest.Target, err error) {
	for _, text := range t.Values {
		targets, err := selftest.ParseTarget(text)
		if err != nil {
			return nil, t.Wrap(err)
		}
		all = append(all, targets...)
	}
	return all, nil
}

// runSelftest reads the command line, opens catalog and blob store, and tests or shows the newest report.
func runSelftest(c *cli.Context, p *command.Program, asked *selftestOptions) (err error) {
	if err := p.Load(c, asked.run.Flags(p.Options)...); err != nil {
		return err
	}
	k := runflags.NewParser(p, c, asked.run)
	k.Words = []string{canary.Command} // what will be run
	wanted, err := k.Options()
	if err != nil {
		return err
	}
	targets := asked.targets
	if targets == nil {
		if targets, err = usualTargets(p.Options.DB); err != nil {
			return err
		}
	}
	if wanted.Analysis, err = k.Analysis(c.Context, nil); err == nil {
		err = wanted.Analysis.Validate()
	}
	if err != nil {
		return err
	}
	st, err := p.OpenStores(c.Context, p.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	if asked.last {
		return showLastSelftest(c.Context, p, st, wanted.JSON)
	}
	return performSelftest(c.Context, p, st, wanted, targets)
}

// usualTargets are the default targets.
func usualTargets(db options.Text) (all []selftest.Target, err error) {
	scheme, _, _ := strings.Cut(db.Value, "://")
	if scheme == "postgres" || scheme == "postgresql" {
		if all, err = selftest.ParseTarget(db.Value); err != nil {
			return nil, db.Wrap(err)
		}
	}
	return append(all, selftest.DefaultTarget), nil
}

// performSelftest tests, keeps the report and prints it.
func performSelftest(ctx context.Context, p *command.Program, st *stores.Stores, wanted runflags.Request, targets []selftest.Target) error {
	stop, done := command.StopSignals()
	defer done()
	print := newReportPrinter(p)
	options := selftest.Options{Analysis: wanted.Analysis, NoAudit: wanted.NoAudit, Targets: targets, Stop: stop}
	if !wanted.JSON {
		options.Each = print.check
	}
	tested, err := selftest.Run(ctx, st.Host, options)
	if err != nil {
		return stoppedStatus(p.Stderr, err, "nothing is proven")
	}
	kept := keepSelftest(ctx, st, tested)
	if wanted.JSON {
		err = screen.WriteJSON(p.Stdout, tested)
	} else {
		print.selftest(tested)
	}
	return cmp.Or(kept, err, reportStatus(tested.Passed))
}

// keepSelftest adds the report to the catalog, a failed one too.
func keepSelftest(ctx context.Context, st *stores.Stores, tested selftest.Report) error {
	text, err := json.Marshal(tested)
	if err == nil {
		err = st.Selftests.AddSelftest(ctx, catalog.Selftest{
			At: tested.Time, Host: tested.Host, ToolVersion: tested.ToolVersion, Passed: tested.Passed, Report: text,
		})
	}
	if err != nil {
		return fmt.Errorf("keep the report: %w", err)
	}
	return nil
}
