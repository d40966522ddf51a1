package slurmcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/slurm"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newTask(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "task",
		Hidden:    true, // what the script of an array calls
		Usage:     "run one line of a submission on a node and deliver its result",
		UsageText: "scidex-oci slurm task SPOOL ARRAY TASK",
		ArgsUsage: "SPOOL ARRAY TASK",
		Action:    func(c *cli.Context) error { return runTask(c, p) },
	}
}

// nodeTask is one task on its node.
type nodeTask struct {
	program *command.Program
	spool   slurm.Spool
	line    slurm.Line
	stop    <-chan runner.StopSignal
	root    string // the node's own, for this task alone
}

func runTask(c *cli.Context, p *command.Program) error {
	stop, _ := command.StopSignals() // before all else: Slurm's signal may come at once
	given, err := command.Args(c, 3, 3)
	if err != nil {
		return err
	}
	t := &nodeTask{program: p, stop: stop}
	if err := p.Load(c); err != nil {
		return err
	}
	array, err1 := strconv.Atoi(given[1])
	task, err2 := strconv.Atoi(given[2])
	if err1 != nil || err2 != nil {
		return command.Usagef("slurm task: %q and %q are to be the numbers of an array and of its task", given[1], given[2])
	}
	if t.spool, err = slurm.Open(given[0]); err != nil {
		return err
	}
	if t.line, err = t.spool.LineOf(array, task); err != nil {
		return err
	}
	name := fmt.Sprintf("%s%s-%d-%d", taskPrefix(), t.spool.Submission.Name, array, task)
	return t.perform(c.Context, filepath.Join(p.Options.Tmp.Path("/tmp"), name))
}

// taskPrefix begins the names of the roots of this user's tasks.
func taskPrefix() string { return fmt.Sprintf("scidex-oci-slurm-%d-", os.Geteuid()) }

// perform runs the line with a root of its own, which it removes once the result is delivered.
func (t *nodeTask) perform(ctx context.Context, root string) (err error) {
	if has, err := t.spool.Has(t.line.Number); err != nil || has {
		return errors.Join(err, t.say("has a result already", ""))
	}
	if canceled, err := t.spool.Canceled(); err != nil || canceled {
		return errors.Join(err, errors.New("the submission was canceled before this task began"))
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	if err := t.spool.Begin(t.line.Number, slurm.Began{Host: host, BootID: runner.BootID(), At: time.Now().UTC()}); err != nil {
		return err
	}
	t.sweep(ctx, filepath.Dir(root))
	held, err := lockdir.Make(root)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := ours(held); err != nil {
		return err
	}
	t.root = root
	if err := os.Symlink(t.spool.LinePath(t.line.Number), filepath.Join(root, lineLink)); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return t.run(ctx, host)
}

// ours refuses a directory in /tmp that somebody else has made under the name of ours.
func ours(dir *os.File) error {
	info, err := dir.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || int(st.Uid) != os.Geteuid() || info.Mode().Perm() != 0o700 {
		return fmt.Errorf("%s is not a directory of this user alone; remove it", dir.Name())
	}
	return nil
}

// lineLink is in the root of a task, a link to its line in the spool.
const lineLink = "line"

// sweep removes what killed tasks of this user have left on the node, once the result of one that had ended is delivered. The
// others' lines are told by collect.
func (t *nodeTask) sweep(ctx context.Context, tmp string) {
	_, err := lockdir.Sweep(tmp, taskPrefix(), false, func(root string) error {
		st, err := t.open(ctx, root)
		if err != nil {
			return err
		}
		_, err = st.Runner.GC(ctx, false, runner.Retention{})
		if err == nil {
			err = deliverLeft(ctx, root, st)
		}
		return errors.Join(err, st.Close())
	})
	if err != nil {
		fmt.Fprintf(t.program.Stderr, "scidex-oci: what a killed task left on this node: %s\n", screen.Escape(err.Error()))
	}
}

// deliverLeft delivers what a killed task has committed below its root, unless its spool is gone.
func deliverLeft(ctx context.Context, root string, st *stores.Stores) error {
	path, err := os.Readlink(filepath.Join(root, lineLink))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was killed before it began
	}
	if err != nil {
		return err
	}
	runs, err := st.Catalog.List(ctx, catalog.Filter{States: []catalog.State{catalog.Complete, catalog.Failed, catalog.Canceled}})
	if err != nil || len(runs) == 0 {
		return err
	}
	line, err := slurm.ReadLine(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	from := spool.Source{Store: store.Store{Catalog: st.Catalog, Blobs: st.Blobs}, Key: runs[0].Key}
	err = slurm.Around(path).Deliver(ctx, line.Number, from, line.Key())
	if errors.Is(err, spool.ErrTaken) {
		return nil // it is beside the other one
	}
	return err
}

// open opens a root of the node's own. Nothing of a user's settings is about it but the place.
func (t *nodeTask) open(ctx context.Context, root string) (*stores.Stores, error) {
	given, err := stores.ReadPolicy(t.program.Options)
	if err != nil {
		return nil, err
	}
	s, err := stores.PrivateSettings(root, t.program.Options)
	if err != nil {
		return nil, err
	}
	st, err := stores.Open(ctx, s, given, t.program.Build.Version, t.program.Stderr)
	if err == nil {
		st.Runner.Private = append(st.Runner.Private, t.spool.Dir, inSpool(t.spool.Dir))
	}
	return st, err
}

func (t *nodeTask) run(ctx context.Context, host string) error {
	var a spec.Analysis
	if err := json.Unmarshal(t.line.Request, &a); err != nil {
		return err
	}
	st, err := t.open(ctx, t.root)
	if err != nil {
		return t.refuse(runner.Refused(a, err, t.program.Build.Version), host)
	}
	res, failed := st.Runner.Run(ctx, runner.Request{
		Analysis: a, NoAudit: t.spool.Submission.NoAudit, Stdout: io.Discard, Stderr: io.Discard, Stop: t.stop,
	})
	// Whoever signals from here on: what is made is delivered or set aside. Slurm has SIGKILL for who does not wait.
	if failed != nil {
		err = t.refuse(res, host)
	} else {
		from := spool.Source{Store: store.Store{Catalog: st.Catalog, Blobs: st.Blobs}, Key: catalog.Key{ID: res.ID, Attempt: res.Attempt}}
		err = t.deliver(func() error { return t.spool.Deliver(ctx, t.line.Number, from, t.line.Key()) })
	}
	err = errors.Join(err, st.Close())
	if res.Reason == result.ReasonCommit && res.Attempt > 0 && failed != nil || err != nil && !errors.Is(err, spool.ErrTaken) {
		err = errors.Join(failed, err, t.keep())
	} else {
		err = errors.Join(err, os.RemoveAll(t.root))
	}
	if err != nil {
		return err
	}
	if err := t.say(string(res.State), res.Message); err != nil || res.ExitCode == 0 {
		return err
	}
	return command.ExitStatus(res.ExitCode)
}

// refuse delivers what did not become a run, or could not be committed on this node.
func (t *nodeTask) refuse(result result.Result, host string) error {
	run, err := slurm.Refused(t.line, result, host)
	if err != nil {
		return err
	}
	return t.deliver(func() error { return t.spool.Conclude(t.line.Number, run) })
}

// deliverPatience is for how long a delivery is tried again: a file server may be away for a while.
const deliverPatience = time.Minute

// deliver tries until the result is in the spool, or another has its place.
func (t *nodeTask) deliver(try func() error) error {
	for deadline := time.Now().Add(deliverPatience); ; time.Sleep(time.Second) {
		err := try()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, spool.ErrTaken):
			return fmt.Errorf("%s: %w: the task was told as ended before it delivered; what it made is in %s", t.line.ID, err, t.spool.LatePath(t.line.Number))
		case time.Now().After(deadline):
			return fmt.Errorf("the result could not be delivered to the spool: %w", err)
		}
	}
}

// keep sets a root with an undelivered result aside, so that no other task sweeps it.
func (t *nodeTask) keep() error {
	aside := filepath.Join(filepath.Dir(t.root), "undelivered-"+filepath.Base(t.root))
	if err := os.Rename(t.root, aside); err != nil {
		return err
	}
	return fmt.Errorf("what the node has of it is kept in %s", aside)
}

func (t *nodeTask) say(what, message string) error {
	_, err := fmt.Fprintf(t.program.Stdout, "line %d  %s  %s  %s\n", t.line.Number, screen.Escape(t.line.Key().String()), what, screen.Escape(message))
	return err
}
