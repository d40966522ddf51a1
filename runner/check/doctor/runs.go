package doctor

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// prefix begins the names of what is made for the runs: the root that is thrown away, below the caller's.
const prefix = "doctor-"

// newName is a name that nobody else has.
func newName() string {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails
	return prefix + hex.EncodeToString(random[:])
}

// home is the root that is thrown away, and the directories above it that were missing.
type home struct {
	path string
	lock *os.File
	made []string
}

func (h *home) make(root string) (err error) {
	for dir := root; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		h.made = append(h.made, dir)
	}
	for _, dir := range slices.Backward(h.made) {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	path := filepath.Join(root, newName())
	if h.lock, err = lockdir.Make(path); err == nil {
		h.path = path
	}
	return err
}

// close removes it. A directory above it in which somebody has made something meanwhile stays.
func (h *home) close() (err error) {
	if h.path != "" {
		err = errors.Join(os.RemoveAll(h.path), h.lock.Close())
	}
	for _, dir := range h.made {
		_ = os.Remove(dir)
	}
	return err
}

// Sweep removes what killed examinations left below root, dry only in what it returns, and, with open, what is
// left of their runs.
func Sweep(ctx context.Context, root string, dry bool, open func(ctx context.Context, root string) (*phase.Host, error)) ([]string, error) {
	return lockdir.Sweep(root, prefix, dry, func(path string) error {
		r, err := open(ctx, path)
		if err != nil {
			return err
		}
		report, err := runner.GC(ctx, r, false, runner.Retention{})
		return errors.Join(append(report.Errors, err, r.Catalog.Close())...)
	})
}

// runs makes a real run of `true`, whatever the other probes came to: it is the judge. And one of Python.
func (e *examination) runs(ctx context.Context) {
	ctx = context.WithoutCancel(ctx) // a run is ended by Stop
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
	e.sum(result)
	e.add(Finding{Code: CodeRun, Status: OK, Seen: ranAs(result), Means: "runs work, from the request to the commit"})
	e.python(ctx, r)
}

func (e *examination) open(ctx context.Context) (*phase.Host, error) {
	if _, err := Sweep(ctx, e.options.Root, false, e.options.Open); err != nil {
		return nil, err
	}
	if err := e.home.make(e.options.Root); err != nil {
		return nil, err
	}
	return e.options.Open(ctx, e.home.path)
}

func (e *examination) run(ctx context.Context, r *phase.Host, command ...string) (result.Result, string, error) {
	a := e.options.Analysis
	a.ID, a.Command, a.Script, a.Args = newName(), command, "", nil
	a.Stage, a.Export, a.Outputs, a.Exclude, a.Keep = "", "", nil, nil, spec.KeepNever
	var stdout bytes.Buffer
	result, err := runner.Run(ctx, r, request.Request{Analysis: a, NoAudit: e.options.NoAudit, Stdout: &stdout, Stderr: io.Discard, Stop: e.stop})
	return result, strings.TrimSpace(stdout.String()), err
}

// failedRun points to the first probe that failed, whose cure is the run's; where none has, to too low a limit of
// processes, which ends a run at any moment and with any words.
func failedRun(message string, report Report) Finding {
	f := Finding{Code: CodeRun, Status: Fail, Seen: message, Means: "runs do not work with these flags"}
	f.Cure, f.Command = "what was tried before has not shown why: run it and see", "scidex-oci --log-level debug run -- true"
	if limit := report.of(CodeProcesses); limit.Status == Warn {
		f.Cure, f.Command = limit.Cure, limit.Command
	}
	if first, ok := report.failed(); ok {
		f.Cure, f.Command = first.Cure, first.Command
	}
	if starved(message) {
		f.Cure, f.Command = sandbox.ProcessesRemedy.Sentence, sandbox.ProcessesRemedy.Command
	}
	return f
}

func ranAs(r result.Result) string {
	by := []string{}
	for _, limit := range r.Enforced {
		if slices.Contains([]string{"memory", "pids", "cpus"}, limit.Limit) {
			by = append(by, limit.Limit+" by "+limit.By)
		}
	}
	return fmt.Sprintf("true ran as uid %d of the host; limits: %s", r.Sandbox.UIDOnHost, strings.Join(by, ", "))
}

// sum takes from the run what it was given.
func (e *examination) sum(r result.Result) {
	s := &e.report.Summary
	s.IDs, s.UIDOnHost, s.SocketWall = r.Sandbox.IDs, r.Sandbox.UIDOnHost, "scan"
	if e.report.status(CodeOverlay) == OK {
		s.SocketWall = "overlay"
	}
	if e.options.Analysis.Limits != spec.LimitsOuter {
		return
	}
	// Such a run makes no control group, also where it could.
	s.Limits = RungOuter
	for _, limit := range r.Enforced {
		if !limit.Held() {
			e.report.unheld = append(e.report.unheld, limit.Limit)
		}
	}
}

// python asks the interpreter that analyses find first.
func (e *examination) python(ctx context.Context, r *phase.Host) {
	result, said, err := e.run(ctx, r, "python3", "-c", "import sys; print(sys.executable, sys.version.split()[0])")
	f := Finding{Code: CodePython, Status: OK, Seen: said, Means: "analyses in Python find an interpreter"}
	if err != nil || result.State != catalog.Complete {
		f.Status, f.Seen, f.Means = Warn, result.Message, "analyses in Python find no interpreter that works"
		f.Cure, f.Command = "install one on the host: runs see the host's /usr", "apt-get install python3"
	}
	e.add(f)
}
