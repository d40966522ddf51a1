package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/spooled"
)

// slurmPoll is collect --wait's interval, each costing Slurm's controller one call.
const slurmPoll = 15 * time.Second

func newSlurmCollect(p *command.Program) *cli.Command {
	o := &slurmCollectOptions{}
	return &cli.Command{
		Name:      "collect",
		Usage:     "commit the results of a submission to the catalog",
		UsageText: "scidex-oci slurm collect [--wait] [--poll DURATION] [--json] SPOOL",
		ArgsUsage: "SPOOL",
		Description: `Results that tasks have delivered are committed with their outputs; of a task that Slurm says has ended without one, a
run is committed that says so: canceled, lost or error. Each line gets exactly one result, however often and at whatever time this
is called, also by several at once and after a kill. What is under way is left for the next call. Once all are collected, SPOOL may
be removed. It works on the catalog of the submission and its blob store (--root, --db, --blobs).

Prints what it has committed as batch does: the object of run --json for each, or on a terminal without --json a line.

Exit codes, of all lines that have ended so far: 0 all are complete, 1 some have failed or were canceled, 125 some are lost or an
error, or could not be committed. A call that finds nothing new says so and ends with 0, whatever earlier calls have committed;
"slurm status" has the states. 129, 130, 131, 143 this command was ended by SIGHUP, SIGINT, SIGQUIT or SIGTERM.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			return withSpool(p, c, func(ctx context.Context, s slurm.Spool) error {
				return runSlurmCollect(ctx, p, c, s, *o)
			})
		},
	}
}

// slurmCollectOptions are the options of slurm collect.
type slurmCollectOptions struct {
	wait, json bool
	poll       time.Duration
}

func (o *slurmCollectOptions) flags() []cli.Flag {
	o.poll = slurmPoll
	return options.List(
		options.Bool(&o.wait, "wait", "go on until all lines are collected"),
		options.Duration(&o.poll, "poll", "look again after `DURATION` with --wait (default: 15s)", 100*time.Millisecond),
		options.Bool(&o.json, "json", "print results as JSON lines also if standard output is a terminal"),
	)
}

// slurmCollection prints what one call of collect does.
type slurmCollection struct {
	program *command.Program
	report  *results.Lines
	new     int          // lines that this call has committed
	failed  map[int]bool // lines whose failure was printed
	unasked bool         // it was printed that Slurm does not answer
}

func runSlurmCollect(ctx context.Context, p *command.Program, c *cli.Context, s slurm.Spool, o slurmCollectOptions) error {
	return p.WithTidyStores(c, func(st *stores.Stores) error {
		k := &slurmCollection{program: p, report: results.NewLines(p, screen.NewTerminal(p.Stderr, p.Env), o.json), failed: map[int]bool{}}
		collector := &slurm.Collector{
			Collector: spooled.Collector{
				Spool: s.Spool, Host: st.Host, Store: store.Store{Catalog: st.Catalog, Blobs: st.Blobs}, Version: p.Build.Version, Committed: k.printResult,
			},
			Submitted: s, Failed: k.printFailure,
		}
		if err := collector.Check(ctx); err != nil {
			return err
		}
		for {
			round, err := collector.Round(ctx)
			if err == nil && (!o.wait || errors.Is(round.Unasked, slurm.ErrMissing)) {
				err = round.Unasked
			}
			if err != nil {
				return errors.Join(err, k.report.Err())
			}
			k.printUnasked(round.Unasked)
			if round.Left == 0 || !o.wait {
				return errors.Join(k.report.Err(), k.end(round))
			}
			select {
			case <-time.After(o.poll):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// printResult prints the result of a line that was committed.
func (k *slurmCollection) printResult(n int, r result.Result) {
	k.new++
	k.report.Print(n, r, false)
}

// printFailure prints why a line could not be committed, once.
func (k *slurmCollection) printFailure(n int, err error) {
	if !k.failed[n] {
		fmt.Fprintf(k.program.Stderr, "scidex-oci: line %d: %s\n", n, screen.Escape(err.Error()))
	}
	k.failed[n] = true
}

// printUnasked prints that Slurm does not answer, once until it does.
func (k *slurmCollection) printUnasked(why error) {
	if why != nil && !k.unasked {
		fmt.Fprintf(k.program.Stderr, "scidex-oci: %s; it is asked again\n", screen.Escape(why.Error()))
	}
	k.unasked = why != nil
}

// end prints the summary and returns the exit code.
func (k *slurmCollection) end(r slurm.Round) error {
	s := r.Summary
	old := k.new == 0 && r.Failed == 0
	text := "slurm: "
	if old {
		text += "nothing new; so far "
	}
	text += fmt.Sprintf("%d complete, %d failed, %d canceled, %s", s.Complete, s.Failed, s.Canceled, format.Count(s.Errors, "error", "errors"))
	if r.Left > 0 {
		text += fmt.Sprintf("; %s under way", format.Count(r.Left, "line", "lines"))
	}
	if r.Failed > 0 {
		text += fmt.Sprintf("; %s could not be committed", format.Count(r.Failed, "line", "lines"))
	}
	fmt.Fprintln(k.program.Stderr, text)
	if old {
		return nil
	}
	s.Errors += r.Failed
	if code := s.ExitCode(); code != 0 {
		return command.ExitStatus(code)
	}
	return nil
}
