package app

import (
	"cmp"
	"context"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
	"github.com/scidex-ai/scidex-oci/runner/phase"
)

func newDoctorCommand(p *command.Program) *cli.Command {
	o := runflags.NewOptions(p)
	var all bool
	return &cli.Command{
		Name:      "doctor",
		Usage:     "find out whether runs work on this host, and what to do if they do not",
		UsageText: "scidex-oci doctor [-v] [--json] [flags of run]",
		Description: `Tries everything that a run needs, by doing it: namespaces, id maps, mounts, overlays, seccomp, control
groups, disk, catalog, and at last a real run, on a root that is thrown away. Nothing is left of it, and
nothing gets into your catalog. Prints whether runs work, then each probe that fails or warns: what that
means for runs, and a sentence and a command that repair it. -v prints the probes that are well, too.

Without flags it is about runs with the defaults, those of the environment and the config file among them.

Results: ok; warn, runs work and have less; FAIL; skipped, something before it failed.

Exit codes: 0 a run with these flags works, 1 it does not, 125 bad flags, 129, 130, 131 and 143 stopped by
SIGHUP, SIGINT, SIGQUIT or SIGTERM.`,
		Flags: options.List(append(confiningFlags(p, o),
			options.Bool(&o.JSON, "json", "print the report as one JSON object"),
			options.Bool(&all, "verbose", "also print what is well", "v"))...),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			if err := p.Load(c, o.Flags(p.Options)...); err != nil {
				return err
			}
			return runDoctor(c, p, o, all)
		},
	}
}

func runDoctor(c *cli.Context, p *command.Program, o *options.Run, all bool) error {
	k := runflags.NewParser(p, c, o)
	k.Words = []string{"true"} // what will be run
	wanted, err := k.Options()
	if err != nil {
		return err
	}
	if wanted.Analysis, err = k.Analysis(c.Context, nil); err == nil {
		err = wanted.Analysis.Validate()
	}
	if err != nil {
		return err
	}
	how, err := examination(p)
	if err != nil {
		return err
	}
	how.Analysis, how.NoAudit = wanted.Analysis, wanted.NoAudit
	stop, done := command.StopSignals()
	defer done()
	how.Stop = stop
	report, err := doctor.Run(c.Context, how)
	if err != nil {
		return stoppedStatus(p.Stderr, err, "nothing is known")
	}
	if wanted.JSON {
		err = screen.WriteJSON(p.Stdout, report)
	} else {
		newReportPrinter(p).doctor(report, all)
	}
	return cmp.Or(err, reportStatus(report.Works))
}

// examination is how doctor gets the caller's catalog, and one of its own.
func examination(p *command.Program) (doctor.Options, error) {
	s, err := stores.ReadSettings(p.Options, p.Env)
	if err != nil {
		return doctor.Options{}, err
	}
	how := doctor.Options{Root: s.Root, Tmp: s.Tmp, PostgreSQL: s.Postgres(), Version: p.Build.Version}
	given, err := stores.ReadPolicy(p.Options, p.Env, p.OpenNet)
	if err != nil {
		return how, err
	}
	how.MinFree = given.Floor
	how.Catalog = func(ctx context.Context) (string, error) { return s.Examine(ctx, p.Build.Version, p.Stderr) }
	how.Open = throwAway(p, s, given)
	return how, nil
}

// throwAway opens stores in another directory, with the settings of the given ones.
func throwAway(p *command.Program, s stores.Settings, given stores.Policy) func(context.Context, string) (*phase.Host, error) {
	return func(ctx context.Context, root string) (*phase.Host, error) {
		st, err := stores.Open(ctx, s.At(root), given, p.Build.Version, p.Stderr)
		if err != nil {
			return nil, err
		}
		return st.Host, nil
	}
}
