package slurmcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
)

// defaultPoll is how often collect --wait looks, which costs Slurm's controller one call.
const defaultPoll = 15 * time.Second

func newCollect(p *command.Program) *cli.Command {
	o := &collectOptions{}
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
				return runCollect(ctx, p, c, s, *o)
			})
		},
	}
}

// collectOptions are the options of slurm collect.
type collectOptions struct {
	wait, json bool
	poll       time.Duration
}

func (o *collectOptions) flags() []cli.Flag {
	o.poll = defaultPoll
	return options.List(
		options.Bool(&o.wait, "wait", "go on until all lines are collected"),
		options.Duration(&o.poll, "poll", "look again after `DURATION` with --wait (default: 15s)", 100*time.Millisecond),
		options.Bool(&o.json, "json", "print results as JSON lines also where standard output is a terminal"),
	)
}

// collection is one call of collect.
type collection struct {
	spool   slurm.Spool
	stores  *stores.Stores
	report  *results.Lines
	program *command.Program
	new     int          // lines that this call has committed
	said    map[int]bool // lines whose trouble was told
	unasked bool         // it was told that Slurm does not answer
}

// round is what one look at the spool came to.
type round struct {
	summary batch.Summary
	left    int   // lines that are under way
	trouble int   // lines that could not be committed
	unasked error // why Slurm could not be asked, where a line depends on it
}

func runCollect(ctx context.Context, p *command.Program, c *cli.Context, s slurm.Spool, o collectOptions) error {
	return p.WithTidyStores(c, func(st *stores.Stores) error {
		if err := belongs(ctx, s, st); err != nil {
			return err
		}
		k := &collection{spool: s, stores: st, program: p, said: map[int]bool{}}
		k.report = results.NewLines(p, screen.NewTerminal(p.Stderr, p.Env), o.json)
		for {
			done, err := k.round(ctx)
			if err == nil && (!o.wait || errors.Is(done.unasked, slurm.ErrMissing)) {
				err = done.unasked
			}
			if err != nil {
				return errors.Join(err, k.report.Err())
			}
			k.tellUnasked(done.unasked)
			if done.left == 0 || !o.wait {
				return errors.Join(k.report.Err(), k.end(done))
			}
			select {
			case <-time.After(o.poll):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	})
}

// belongs refuses another catalog than that of the submission, and a submission that is still under way. The blob store is the
// catalog's from then on.
func belongs(ctx context.Context, s slurm.Spool, st *stores.Stores) error {
	id, _, err := st.Runner.Match(ctx)
	if err != nil {
		return err
	}
	if id != s.Submission.CatalogID {
		return fmt.Errorf("spool %q is of catalog %s and this one is %s: give the --root, --db and --blobs that it was submitted with", s.Dir, s.Submission.CatalogID, id)
	}
	if err := st.Runner.Bind(ctx); err != nil {
		return err
	}
	submitted, err := s.Submitted()
	if err != nil {
		return err
	}
	canceled, err := s.Canceled()
	if err == nil && !submitted && !canceled {
		err = fmt.Errorf("the submission of %q is still under way, or was killed; then end it with \"scidex-oci slurm cancel\"", s.Dir)
	}
	return err
}

// round asks Slurm first and looks at the results then, so that one that comes meanwhile is not missed. Where Slurm cannot be
// asked, what is delivered is committed all the same.
func (k *collection) round(ctx context.Context) (round, error) {
	var r round
	tasks, unasked := k.spool.Tasks(ctx)
	for array, a := range k.spool.Submission.Arrays {
		for task, n := range a.Lines {
			if ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			id := slurm.TaskID{Array: array, Task: task}
			has, err := k.spool.Has(n)
			if err != nil {
				return r, err
			}
			if !has && (unasked != nil || !tasks[id].Ended()) {
				r.left++
				continue
			}
			err = k.line(ctx, id, n, has, tasks[id])
			if ctx.Err() != nil {
				return r, context.Cause(ctx)
			}
			if err != nil {
				r.trouble++
				k.tell(n, err)
				continue
			}
			run, err := k.spool.Peek(n)
			if err != nil {
				r.trouble++
				k.tell(n, err)
				continue
			}
			r.summary.Add(batch.Outcome{Result: result.Result{State: run.State}})
		}
	}
	if r.left > 0 { // else nobody had to know
		r.unasked = unasked
	}
	return r, nil
}

// line commits one line, whose task has ended or has delivered.
func (k *collection) line(ctx context.Context, id slurm.TaskID, n int, has bool, status slurm.Status) error {
	collected, err := k.spool.Collected(n)
	if err != nil || collected {
		return err
	}
	line, err := k.spool.Line(n)
	if err != nil {
		return err
	}
	if !has {
		if err := k.conclude(id, line, status); err != nil {
			return err
		}
	}
	key, err := k.spool.Commit(ctx, n, line.Key(), store.Store{Catalog: k.stores.Catalog, Blobs: k.stores.Blobs})
	if err != nil {
		return err
	}
	run, err := k.stores.Catalog.Get(ctx, key)
	if err != nil {
		return err
	}
	result, err := k.stores.Runner.Show(ctx, run)
	if err != nil {
		return err
	}
	k.new++
	k.report.Print(n, result, false)
	return nil
}

// conclude writes the result of a line whose task left none. A task that is not dead after all, and delivers after this, finds
// its place taken.
func (k *collection) conclude(id slurm.TaskID, line slurm.Line, status slurm.Status) error {
	began, err := k.spool.Began(line.Number)
	if err != nil {
		return err
	}
	canceled, err := k.spool.Canceled()
	if err != nil {
		return err
	}
	ending := slurm.Ending{Status: status, Began: began, Canceled: canceled, Log: k.spool.LogPath(id.Array, id.Task)}
	_, err = os.Lstat(ending.Log)
	ending.Logged = err == nil
	run := ending.Verdict(line)
	run.ToolVersion = k.program.Build.Version
	if run.Host == "" { // then it is said by this host
		if run.Host, err = os.Hostname(); err != nil {
			return err
		}
		run.BootID = runner.BootID()
	}
	err = k.spool.Conclude(line.Number, run)
	if errors.Is(err, spool.ErrTaken) {
		return nil // it has just been delivered, or another collect was faster
	}
	return err
}

// tell tells of a line that could not be committed, once.
func (k *collection) tell(n int, err error) {
	if !k.said[n] {
		fmt.Fprintf(k.program.Stderr, "scidex-oci: line %d: %s\n", n, screen.Escape(err.Error()))
	}
	k.said[n] = true
}

// tellUnasked tells once that Slurm does not answer, until it does.
func (k *collection) tellUnasked(why error) {
	if why != nil && !k.unasked {
		fmt.Fprintf(k.program.Stderr, "scidex-oci: %s; it is asked again\n", screen.Escape(why.Error()))
	}
	k.unasked = why != nil
}

// end prints the summary and returns the exit code.
func (k *collection) end(r round) error {
	s := r.summary
	old := k.new == 0 && r.trouble == 0
	text := "slurm: "
	if old {
		text += "nothing new; so far "
	}
	text += fmt.Sprintf("%d complete, %d failed, %d canceled, %s", s.Complete, s.Failed, s.Canceled, screen.Count(s.Errors, "error"))
	if r.left > 0 {
		text += fmt.Sprintf("; %s under way", screen.Count(r.left, "line"))
	}
	if r.trouble > 0 {
		text += fmt.Sprintf("; %s could not be committed", screen.Count(r.trouble, "line"))
	}
	fmt.Fprintln(k.program.Stderr, text)
	if old {
		return nil
	}
	s.Errors += r.trouble
	if code := s.ExitCode(); code != 0 {
		return command.ExitStatus(code)
	}
	return nil
}
