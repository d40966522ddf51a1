package spooled

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/backoff"
	"github.com/scidex-ai/scidex-oci/internal/owned"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/outputs/spool"
	"github.com/scidex-ai/scidex-oci/outputs/store"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Task runs one line of a spool on a machine.
type Task struct {
	Spool   Spool
	Line    Line
	NoAudit bool
	Stop    <-chan request.StopSignal
	// Root is the directory of the task. Its name starts with Prefix, as those of all such tasks of this user in its directory.
	Root, Prefix string
	// Open opens a root of a task, and sets what analyses must not be given.
	Open    func(ctx context.Context, root string) (*Node, error)
	Version string // of this program
	// Ended is called with the state of the line, and a message.
	Ended func(state, message string) error
	// Unswept is called if what killed tasks left could not be removed.
	Unswept func(error)
}

// Node is the opened root of a task.
type Node struct {
	Host  *phase.Host
	Store store.Store
	Close func() error
}

// Run runs the line, delivers its result, and removes the root. It returns the exit code of the analysis.
func (t *Task) Run(ctx context.Context) (exitCode int, err error) {
	if has, err := t.Spool.Has(t.Line.Number); err != nil || has {
		return 0, errors.Join(err, t.Ended("has a result already", ""))
	}
	if canceled, err := t.Spool.Canceled(); err != nil || canceled {
		return 0, errors.Join(err, errors.New("the submission was canceled before this task started"))
	}
	host, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	if err := t.Spool.begin(t.Line.Number, Began{Host: host, BootID: workspace.BootID(), At: time.Now().UTC()}); err != nil {
		return 0, err
	}
	t.sweep(ctx)
	lock, err := t.makeRoot()
	if err != nil {
		return 0, err
	}
	defer lock.Close()
	return t.run(ctx, host)
}

// lineLink is in the root of a task: a link to its line in the spool.
const lineLink = "line"

// makeRoot makes and locks the root.
func (t *Task) makeRoot() (*os.File, error) {
	lock, err := lockdir.Make(t.Root)
	if err != nil {
		return nil, err
	}
	if err = owned.Check(lock, owned.Use); err != nil { // another user made it
		err = fmt.Errorf("%s: %w; remove it", t.Root, err)
	} else {
		err = os.Symlink(t.Spool.linePath(t.Line.Number), filepath.Join(t.Root, lineLink))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

// open opens a root. Analyses must not be given the spool.
func (t *Task) open(ctx context.Context, root string) (*Node, error) {
	node, err := t.Open(ctx, root)
	if err == nil {
		node.Host.Private = append(node.Host.Private, t.Spool.Dir, realPath(t.Spool.Dir))
	}
	return node, err
}

// realPath is a directory's path without symlinks.
func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

func (t *Task) run(ctx context.Context, host string) (exitCode int, err error) {
	var a spec.Analysis
	if err := json.Unmarshal(t.Line.Request, &a); err != nil {
		return 0, err
	}
	node, err := t.open(ctx, t.Root)
	if err != nil {
		return 0, t.refuse(ctx, runner.Refused(a, err, t.Version), host)
	}
	res, failed := runner.New(node.Host, warm.Begin).Run(ctx, request.Request{
		Analysis: a, Switches: request.Switches{NoAudit: t.NoAudit}, Stdout: io.Discard, Stderr: io.Discard, Stop: t.Stop,
	})
	// Signals are ignored from here on: the result is delivered or set aside. Slurm sends SIGKILL if that takes too long.
	if failed != nil {
		err = t.refuse(ctx, res, host)
	} else {
		from := spool.Source{Store: node.Store, Key: catalog.Key{ID: res.ID, Attempt: res.Attempt}}
		err = t.deliver(ctx, func() error { return t.Spool.Deliver(ctx, t.Line.Number, from, t.Line.Key()) })
	}
	err = errors.Join(err, node.Close())
	if res.Reason == outcome.ReasonCommit && res.Attempt > 0 && failed != nil || err != nil && !errors.Is(err, spool.ErrTaken) {
		err = errors.Join(failed, err, t.setAside())
	} else {
		err = errors.Join(err, os.RemoveAll(t.Root))
	}
	if err != nil {
		return 0, err
	}
	return int(res.ExitCode), t.Ended(string(res.State), res.Message)
}

// refuse delivers the result of a line that this machine refused, or that could not be committed here.
func (t *Task) refuse(ctx context.Context, r result.Result, host string) error {
	report, err := json.Marshal(r.Report)
	if err != nil {
		return err
	}
	run := t.Line.Run(r.Outcome, report)
	run.Host, run.BootID, run.ToolVersion = host, r.BootID, r.ToolVersion
	return t.deliver(ctx, func() error { return t.Spool.Conclude(t.Line.Number, run) })
}

// deliveryTimeout is how long a delivery is retried: a file server may be down.
const deliveryTimeout = time.Minute

// deliver retries until the spool has this result or another one.
func (t *Task) deliver(ctx context.Context, try func() error) error {
	ctx, cancel := context.WithTimeout(ctx, deliveryTimeout)
	defer cancel()
	pause := backoff.Backoff{First: time.Second, Longest: 8 * time.Second} // all tasks wait for one file server
	for {
		err := try()
		switch {
		case err == nil:
			return nil
		case errors.Is(err, spool.ErrTaken):
			return fmt.Errorf("%s: %w: the task was reported as ended before it delivered; what it made is in %s", t.Line.ID, err, t.Spool.LatePath(t.Line.Number))
		case !pause.Wait(ctx):
			return fmt.Errorf("the result could not be delivered to the spool: %w", err)
		}
	}
}

// setAside renames a root with an undelivered result, so that no other task removes it.
func (t *Task) setAside() error {
	aside := filepath.Join(filepath.Dir(t.Root), "undelivered-"+filepath.Base(t.Root))
	if err := os.Rename(t.Root, aside); err != nil {
		return err
	}
	return fmt.Errorf("what the node has of it is kept in %s", aside)
}
