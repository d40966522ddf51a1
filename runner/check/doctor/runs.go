package doctor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/check"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/spec"
)

// namePrefix starts the names of runs, control groups and roots of an examination.
const namePrefix = "doctor-"

// tempRoot is a root below the caller's for the runs of an examination, and the parent directories that it needed.
type tempRoot struct {
	check.Dir
	parents []string
}

func (t *tempRoot) make(root string) (err error) {
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		t.parents = append(t.parents, dir)
	}
	for _, dir := range slices.Backward(t.parents) {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	t.Dir, err = check.MakeDir(filepath.Join(root, check.RandomName(namePrefix)))
	return err
}

// remove removes the root, and its parents unless they contain something else.
func (t *tempRoot) remove() error {
	err := t.Remove()
	for _, dir := range t.parents {
		_ = os.Remove(dir)
	}
	return err
}

// Sweep removes the roots that killed examinations left below root, and by a Host from open what is left of their runs. With
// dry it only returns what it would remove.
func Sweep(ctx context.Context, root string, dry bool, open func(ctx context.Context, root string) (*phase.Host, error)) ([]string, error) {
	return lockdir.Sweep(root, namePrefix, dry, func(path string) error {
		r, err := open(ctx, path)
		if err != nil {
			return err
		}
		report, err := recovery.GC(ctx, r, false, recovery.Retention{})
		return errors.Join(append(report.Errors, err, r.Catalog.Close())...)
	})
}

// close removes what open has made.
func (e *examination) close() error {
	if e.opened != nil {
		_ = e.opened.Catalog.Close() // it is removed
	}
	return e.root.remove()
}

func (e *examination) open(ctx context.Context) error {
	_, err := Sweep(ctx, e.options.Root, false, e.options.Open)
	if err == nil {
		err = e.root.make(e.options.Root)
	}
	if err == nil {
		e.opened, err = e.options.Open(ctx, e.root.Path)
	}
	return err
}

// run runs a command in the root of this examination.
func (e *examination) run(ctx context.Context, command ...string) (result.Result, string, error) {
	a := check.Confined(e.options.Analysis)
	a.ID, a.Command = check.RandomName(namePrefix), command
	var stdout bytes.Buffer
	run := e.runs.Start(ctx, runner.New(e.opened, warm.Begin), request.Request{Analysis: a, Switches: request.Switches{NoAudit: e.options.NoAudit}, Stdout: &stdout, Stderr: io.Discard})
	<-run.Ended
	return run.Result, strings.TrimSpace(stdout.String()), run.Err
}

// runTrue runs `true`, whatever the other checks found, since that decides.
func (e *examination) runTrue(ctx context.Context) check.Finding {
	ctx = context.WithoutCancel(ctx) // stop signals end a run
	if err := e.open(ctx); err != nil {
		return e.failedRun(err.Error())
	}
	result, _, err := e.run(ctx, "true")
	if err != nil || result.State != outcome.Complete {
		return e.failedRun(result.Message)
	}
	e.summarize(result)
	return check.Finding{Seen: ranAs(result)}
}

// failedRun advises what the first failed check does; without one, what helps against too low a limit of processes, which
// can end a run at any moment with any message.
func (e *examination) failedRun(message string) check.Finding {
	f := check.Finding{Seen: message}.As(check.Fail, "runs do not work with these flags",
		remedies.Remedy{Sentence: "what was tried before has not shown why: run it and see", Command: "scidex-oci --log-level debug run -- true"})
	if limit := e.Of(codeProcesses); limit.Status == check.Warn {
		f.Cure, f.Command = limit.Cure, limit.Command
	}
	if first, ok := e.Failed(); ok {
		f.Cure, f.Command = first.Cure, first.Command
	}
	if outOfProcesses(message) {
		f.Cure, f.Command = remedies.Processes.Sentence, remedies.Processes.Command
	}
	f.Seen = strings.TrimSuffix(message, "; "+f.Cure)
	return f
}

// ranAs describes the id and limits of a run.
func ranAs(r result.Result) string {
	by := []string{}
	for _, limit := range r.Enforced {
		if slices.Contains([]string{"memory", "pids", "cpus"}, limit.Limit) {
			by = append(by, limit.Limit+" by "+limit.By)
		}
	}
	return fmt.Sprintf("true ran as uid %d of the host; limits: %s", r.Sandbox.UIDOnHost, strings.Join(by, ", "))
}

// summarize takes the ids and limits of runs from that of `true`.
func (e *examination) summarize(r result.Result) {
	s := &e.summary
	s.IDs, s.UIDOnHost, s.SocketWall = r.Sandbox.IDs, r.Sandbox.UIDOnHost, "scan"
	if e.Of(codeOverlay).Status == check.OK {
		s.SocketWall = "overlay"
	}
	if e.options.Analysis.Limits != spec.LimitsOuter {
		return
	}
	// Such a run makes no control group, even if it could.
	s.Limits = LimitsByOuter
	for _, limit := range r.Enforced {
		if !limit.Held() {
			e.unheld = append(e.unheld, limit.Limit)
		}
	}
}

// runPython runs the first interpreter in the PATH of analyses.
func (e *examination) runPython(ctx context.Context) check.Finding {
	result, said, err := e.run(context.WithoutCancel(ctx), "python3", "-c", "import sys; print(sys.executable, sys.version.split()[0])")
	if err != nil || result.State != outcome.Complete {
		return check.Finding{Seen: result.Message}.As(check.Warn, "analyses in Python find no interpreter that works",
			remedies.Remedy{Sentence: "install one on the host: runs see the host's /usr", Command: "apt-get install python3"})
	}
	return check.Finding{Seen: said}
}
