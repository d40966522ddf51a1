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

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/host/remedies"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// namePrefix starts the names of runs, control groups and roots of an examination.
const namePrefix = "doctor-"

// tempRoot is a root below the caller's for the runs of an examination, and the parent directories that it needed.
type tempRoot struct {
	probe.Dir
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
	t.Dir, err = probe.MakeDir(filepath.Join(root, probe.RandomName(namePrefix)))
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

// checkRuns runs `true`, whatever the other probes found, since that decides; and then Python.
func (e *examination) checkRuns(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // stop signals end a run
	r, err := e.open(ctx)
	if err != nil {
		e.add(failedRun(err.Error(), e.report))
		e.skip(CodePython, CodeRun)
		return
	}
	defer r.Catalog.Close()
	result, _, err := e.run(ctx, r, "true")
	if err != nil || result.State != catalog.Complete {
		e.add(failedRun(result.Message, e.report))
		e.skip(CodePython, CodeRun)
		return
	}
	e.summarize(result)
	e.add(Finding{Code: CodeRun, Status: OK, Seen: ranAs(result), Means: "runs work, from the request to the commit"})
	e.python(ctx, r)
}

func (e *examination) open(ctx context.Context) (*phase.Host, error) {
	if _, err := Sweep(ctx, e.options.Root, false, e.options.Open); err != nil {
		return nil, err
	}
	if err := e.root.make(e.options.Root); err != nil {
		return nil, err
	}
	return e.options.Open(ctx, e.root.Path)
}

func (e *examination) run(ctx context.Context, r *phase.Host, command ...string) (result.Result, string, error) {
	a := probe.Confined(e.options.Analysis)
	a.ID, a.Command = probe.RandomName(namePrefix), command
	var stdout bytes.Buffer
	run := e.runs.Start(ctx, r, request.Request{Analysis: a, NoAudit: e.options.NoAudit, Stdout: &stdout, Stderr: io.Discard})
	<-run.Ended
	return run.Result, strings.TrimSpace(stdout.String()), run.Err
}

// failedRun returns the remedy of the first failed probe; without one, that of too low a limit of processes, which can end a
// run at any moment with any message.
func failedRun(message string, report Report) Finding {
	f := Finding{Code: CodeRun, Status: Fail, Seen: message, Means: "runs do not work with these flags"}
	f.Cure, f.Command = "what was tried before has not shown why: run it and see", "scidex-oci --log-level debug run -- true"
	if limit := report.of(CodeProcesses); limit.Status == Warn {
		f.Cure, f.Command = limit.Cure, limit.Command
	}
	if first, ok := report.failed(); ok {
		f.Cure, f.Command = first.Cure, first.Command
	}
	if outOfProcesses(message) {
		f.Cure, f.Command = remedies.Processes.Sentence, remedies.Processes.Command
	}
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
	s := &e.report.Summary
	s.IDs, s.UIDOnHost, s.SocketWall = r.Sandbox.IDs, r.Sandbox.UIDOnHost, "scan"
	if e.report.status(CodeOverlay) == OK {
		s.SocketWall = "overlay"
	}
	if e.options.Analysis.Limits != spec.LimitsOuter {
		return
	}
	// Such a run makes no control group, even where it could.
	s.Limits = LimitsByOuter
	for _, limit := range r.Enforced {
		if !limit.Held() {
			e.report.unheld = append(e.report.unheld, limit.Limit)
		}
	}
}

// python runs the first interpreter in the PATH of analyses.
func (e *examination) python(ctx context.Context, r *phase.Host) {
	result, said, err := e.run(ctx, r, "python3", "-c", "import sys; print(sys.executable, sys.version.split()[0])")
	f := Finding{Code: CodePython, Status: OK, Seen: said, Means: "analyses in Python find an interpreter"}
	if err != nil || result.State != catalog.Complete {
		f.Seen = result.Message
		f = f.as(Warn, "analyses in Python find no interpreter that works",
			remedies.Remedy{Sentence: "install one on the host: runs see the host's /usr", Command: "apt-get install python3"})
	}
	e.add(f)
}
