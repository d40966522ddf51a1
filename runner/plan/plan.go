package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/host/freespace"
	"github.com/scidex-ai/scidex-oci/runner/host/idmap"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/limits"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/warm"
	"github.com/scidex-ai/scidex-oci/runner/workspace"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Plan is a request that can be run: checked, its inputs open, its ids locked, nothing made yet.
type Plan struct {
	Key      catalog.Key
	Analysis spec.Analysis // complete: defaults, absolute paths
	secrets  map[string]string
	ids

	Opened   time.Time // when the inputs were
	Inputs   *inputs.Set
	Stage    *os.File        // --stage, nil if not requested
	Export   *outputs.Target // --export, nil if not requested
	Base     *Base           // nil: the host's programs
	Tree     rootfs.Tree
	Extra    Extra
	Command  []string
	Limits   *limits.Limits
	Declared *outputs.Declared
	Audit    bool
	floor    freespace.Floor
	Warnings []string
}

// Extra is what makes a run faster, for its sandbox.Job.
type Extra struct {
	Cache []rootfs.File
	// Ahead are the variables of a command that starts before its turn; nil: it starts with the analysis.
	Ahead []string
	// Script is where a command that starts ahead finds the script (sandbox.Script.Early).
	Script string
}

// Close releases all that the plan has opened and locked.
func (p *Plan) Close() error {
	err := errors.Join(p.Inputs.Close(), p.Base.Close(), workspace.CloseFile(p.Stage), p.slot.Release())
	if p.Export != nil {
		err = errors.Join(err, p.Export.Close())
	}
	return err
}

// Links are the links in the working directory by which relative paths such as data/x reach the inputs.
func (p *Plan) Links() map[string]string {
	return phase.Links(p.Inputs.HasData, p.Inputs.HasDocs)
}

// New checks a request as far as possible without making anything.
func New(ctx context.Context, host *phase.Host, req request.Request, launched *warm.Sandbox) (_ *Plan, err error) {
	defer func() {
		if req.Caller.Dir != "" {
			err = inputs.Likely(err)
		}
	}()
	analysis, err := complete(req.Analysis)
	if err != nil {
		return nil, err
	}
	key, err := nextAttempt(ctx, host, analysis.ID, req)
	if err != nil {
		return nil, err
	}
	script, warnings, err := scriptSource(ctx, host, analysis, req, key)
	if err != nil {
		return nil, err
	}
	resolving, release := request.UntilStop(ctx, req.Stop, scan.TellAfter) // an image may have to be unpacked
	p, err := resolve(resolving, host, analysis, key, script, launched.Account())
	if stopped := release(); err != nil {
		return nil, cmp.Or(stopped, err)
	} else if stopped != nil {
		return nil, p.OrClose(stopped)
	}
	p.Warnings = append(p.Warnings, warnings...)
	p.Audit, p.floor = !req.NoAudit, host.MinFree
	if req.Command != nil {
		p.Command = req.Command
	}
	return p, p.OrClose(first(
		func() error { return checkRequests(host, p) },
		func() error { return checkPinned(ctx, host, p, req) },
		func() (err error) { p.Export, err = openExport(analysis.Export, req.Overwrite); return err },
		func() error { return checkDirectory(ctx, host, key) },
		func() error { return checkSpace(host, p) },
		func() error { return checkUnharvested(host) },
		func() (err error) { // it may wait
			defer trace.From(ctx).Span(trace.Run, "choose the limits")()
			p.Limits, err = limits.Choose(p.Analysis, launched.Groups(), req.Analysis.CPUs != 0)
			return err
		},
		func() error { return scanInputs(ctx, host, p, req) }, // last: it takes longest
	))
}

// resolve opens and looks up everything that an analysis names.
func resolve(ctx context.Context, host *phase.Host, a spec.Analysis, key catalog.Key, scriptSource string, account idmap.Account) (p *Plan, err error) {
	opened := time.Now()
	a.ID = key.ID
	secrets, err := readSecrets(a.Secrets)
	if err != nil {
		return nil, err
	}
	declared, err := outputs.NewDeclared(a.Outputs)
	if err != nil {
		return nil, err
	}
	ids, err := chooseIDs(account, a.IDs, a.Limits)
	if err != nil {
		return nil, err
	}
	a.IDs = ids.kind()
	o := opener(ctx, host, ids)
	set, err := openInputs(ctx, o, a, scriptSource)
	if err != nil {
		return nil, errors.Join(err, ids.slot.Release())
	}
	p = &Plan{Key: key, Analysis: a, secrets: secrets, ids: ids, Opened: opened, Inputs: set, Declared: declared, Warnings: ids.warnings()}
	return p, p.OrClose(first(
		func() (err error) { p.Stage, err = openStage(a.Stage, o); return err },
		func() error { return p.openRoot(ctx, host, o) },
		func() (err error) { p.Command, err = commandOf(a, set.Script); return err },
	))
}

func opener(ctx context.Context, host *phase.Host, ids ids) inputs.Opener {
	return inputs.Opener{
		Reader:   ids.reader(),
		Fetch:    func(in spec.Input) (string, error) { return fetchInput(ctx, host, in) },
		Boundary: boundary(host, ids.Account.UID),
	}
}

// Copied checks what is copied into a run as what is bound. The copy is the caller's: only root reads more than its analysis may.
func Copied(host *phase.Host) inputs.Opener {
	uid := os.Geteuid()
	return inputs.Opener{Reader: scan.Reader{Own: uid != 0, Root: uid == 0}, Boundary: boundary(host, uid)}
}

// boundary makes the rules when they are needed. uid is the caller's.
func boundary(host *phase.Host, uid int) func() (*binds.Boundary, error) {
	return sync.OnceValues(func() (*binds.Boundary, error) {
		return binds.New(private(host, uid), host.AllowBinds, host.Log)
	})
}

func openInputs(ctx context.Context, o inputs.Opener, a spec.Analysis, scriptSource string) (*inputs.Set, error) {
	defer trace.From(ctx).Span(trace.Run, "open the inputs")()
	return o.Open(a, scriptSource)
}

// private returns what no bind may show. uid is the caller's.
func private(host *phase.Host, uid int) binds.Host {
	return binds.Host{
		Private: append([]string{host.Root}, host.Private...), Key: host.Sign.File, Tmp: host.Tmp, DatabaseHosts: host.DatabaseHosts, UID: uid, Getenv: os.Getenv,
	}
}

// first returns the first error: a person gets one sentence.
func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// OrClose closes the plan on an error.
func (p *Plan) OrClose(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, p.Close())
}

// complete fills in defaults and validates the result.
func complete(a spec.Analysis) (spec.Analysis, error) {
	a, err := inCurrentDirectory(a)
	if err != nil {
		return a, err
	}
	a = a.WithDefaults()
	return a, a.Validate()
}

// inCurrentDirectory resolves the paths of an analysis in the current directory, ./data and ./docs included.
func inCurrentDirectory(a spec.Analysis) (spec.Analysis, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return a, err
	}
	a.Data = defaultInput(a.Data, filepath.Join(cwd, "data"))
	a.Docs = defaultInput(a.Docs, filepath.Join(cwd, "docs"))
	return a.ResolvePaths(cwd), nil
}

// defaultInput is ./data or ./docs if it exists and none was requested.
func defaultInput(asked, usual string) string {
	if asked != "" {
		return asked
	}
	if info, err := os.Stat(usual); err != nil || !info.IsDir() {
		return spec.None
	}
	return usual
}

func readSecrets(names []string) (map[string]string, error) {
	values := map[string]string{}
	for _, name := range names {
		value, ok := os.LookupEnv(name)
		if !ok {
			return nil, fmt.Errorf("--secret %s: the environment has no variable of that name; export it first", name)
		}
		values[name] = value
	}
	return values, nil
}

// openStage opens the directory of --stage; nil if not requested. One that must not be shown is returned with the error.
func openStage(path string, o inputs.Opener) (*os.File, error) {
	if path == "" {
		return nil, nil // there is none
	}
	dir, err := userdir.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &inputs.MissingError{Flag: "--stage", Path: path}
	} else if err != nil {
		return nil, fmt.Errorf("--stage %q: %w; give a directory", path, inode.Plain(err))
	}
	defer dir.Close()
	stage, err := dir.File()
	if err != nil {
		return nil, fmt.Errorf("--stage %q: %w; give a directory", path, inode.Plain(err))
	}
	_, _, err = o.KeepOut(fmt.Sprintf("--stage %q", path), stage)
	return stage, err
}

// commandOf returns the argument vector as seen inside.
func commandOf(a spec.Analysis, script *inputs.Script) ([]string, error) {
	if script == nil {
		return a.Command, nil
	}
	line, err := spec.FirstLine(io.NewSectionReader(script.File, 0, inputs.ScriptMax))
	if err != nil {
		return nil, fmt.Errorf("--script %q: %w", a.Script, err)
	}
	interpreter, err := spec.Interpreter(a.Script, line)
	if err != nil {
		return nil, err
	}
	return slices.Concat(interpreter, []string{script.Inside}, a.Args), nil
}
