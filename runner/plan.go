package runner

import (
	"bufio"
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

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
	"github.com/scidex-ai/scidex-oci/runner/host/inode"
	"github.com/scidex-ai/scidex-oci/runner/inputs/binds"
	"github.com/scidex-ai/scidex-oci/runner/inputs/scan"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/sandbox"
	"github.com/scidex-ai/scidex-oci/spec"
)

// plan is a request that can be run: checked, its inputs open, its ids locked, nothing made yet.
type plan struct {
	key      catalog.Key
	analysis spec.Analysis // complete: defaults, absolute paths
	secrets  map[string]string

	account  sandbox.Account
	slot     sandbox.Slot
	opened   time.Time // when the inputs were
	inputs   *inputSet
	stage    *os.File // --stage, nil where not asked for
	base     *base    // nil: the host's programs
	tree     rootfs.Tree
	command  []string
	parent   *cgroup.Parent // nil: no control group (best effort)
	declared *outputs.Declared
	audit    bool
	floor    sandbox.Floor
	warnings []string
}

func (p *plan) close() error {
	return errors.Join(p.inputs.close(), p.base.close(), closeFile(p.stage), p.slot.Release())
}

// reader is who is to read the inputs.
func (p *plan) reader() scan.Reader {
	return scan.Reader{
		UID: p.account.HostUID(p.slot.Analysis), GID: p.account.HostGID(p.slot.Analysis),
		Own: p.analysis.IDs == spec.IDsSelf, Root: p.account.Root(),
	}
}

// single reports whether the analysis runs as uid 0 inside because the caller has one id only.
func (p *plan) single() bool { return !p.account.HasRange() }

// uid is the analysis' id inside.
func (p *plan) uid() uint32 {
	if p.single() {
		return 0
	}
	return 1000
}

// links are what the working directory has to lead relative paths to the inputs.
func (p *plan) links() map[string]string {
	links := map[string]string{}
	if p.inputs.hasData {
		links["data"] = "/data"
	}
	if p.inputs.hasDocs {
		links["docs"] = "/docs"
	}
	return links
}

// prepare checks a request as far as that is possible without making anything.
func prepare(ctx context.Context, host *phase.Host, req Request, launched *launching) (_ *plan, err error) {
	analysis, err := complete(req.Analysis)
	if err != nil {
		return nil, err
	}
	key, err := nextAttempt(ctx, host, analysis.ID, req.Again)
	if err != nil {
		return nil, err
	}
	source, err := scriptSource(ctx, host, analysis, req.model(key))
	if err != nil {
		return nil, err
	}
	resolving, release := untilStop(ctx, req.Stop, scan.TellAfter) // an image may have to be unpacked
	p, err := resolve(resolving, host, analysis, key, source, launched.account)
	if stopped := release(); err != nil {
		return nil, cmp.Or(stopped, err)
	} else if stopped != nil {
		return nil, p.orClose(stopped)
	}
	p.audit, p.floor = !req.NoAudit, host.MinFree
	return p, p.orClose(first(
		func() error { return checkPinned(ctx, host, p, req) },
		func() error { return checkExport(analysis.Export, req.Overwrite) },
		func() error { return checkDirectory(ctx, host, key) },
		func() error { return checkSpace(host, p) },
		func() error { // it may wait
			defer trace.From(ctx).Span(trace.Run, "choose the limits")()
			return p.chooseLimits(launched.groups(), req.Analysis.CPUs != 0)
		},
		func() error { return scanInputs(ctx, host, p, req) }, // last: it takes longest
	))
}

// resolve opens and looks up everything that an analysis names.
func resolve(ctx context.Context, host *phase.Host, a spec.Analysis, key catalog.Key, scriptSource string, account sandbox.Account) (p *plan, err error) {
	a.ID = key.ID
	p = &plan{analysis: a, key: key, account: account, opened: time.Now(), inputs: &inputSet{}}
	if p.secrets, err = readSecrets(a.Secrets); err != nil {
		return nil, err
	}
	if p.declared, err = outputs.NewDeclared(a.Outputs); err != nil {
		return nil, err
	}
	if err := p.chooseIDs(); err != nil {
		return nil, err
	}
	o := opener{p.reader(), func(in spec.Input) (string, error) { return fetchInput(ctx, host, in) }, sync.OnceValues(func() (*binds.Boundary, error) {
		return binds.New(private(host, account.UID), host.AllowBinds, host.Log)
	})}
	opened := trace.From(ctx).Span(trace.Run, "open the inputs")
	inputs, err := o.open(p.analysis, scriptSource)
	opened()
	if err != nil {
		return nil, p.orClose(err)
	}
	p.inputs = inputs
	return p, p.orClose(first(
		func() error { return p.openStage(o) },
		func() error {
			defer trace.From(ctx).Span(trace.Run, "root filesystem")()
			return first(func() error { return openRoot(ctx, host, p, o) }, func() error { return p.plant(p.uid()) })
		},
		p.resolveCommand,
	))
}

// private is what no bind may show of it. uid is the caller's.
func private(host *phase.Host, uid int) binds.Host {
	return binds.Host{
		Private: append([]string{host.Root}, host.Private...), Tmp: host.Tmp, Database: host.Database, UID: uid, Getenv: os.Getenv,
	}
}

// first stops at the first check that fails: a person gets one sentence.
func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// orClose closes the plan where there is an error.
func (p *plan) orClose(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(err, p.close())
}

// complete fills in what was not asked for and checks the whole.
func complete(a spec.Analysis) (spec.Analysis, error) {
	cwd, err := os.Getwd()
	if err != nil {
		return a, err
	}
	a.Data = defaultInput(a.Data, filepath.Join(cwd, "data"))
	a.Docs = defaultInput(a.Docs, filepath.Join(cwd, "docs"))
	a = a.ResolvePaths(cwd).WithDefaults()
	return a, a.Validate()
}

// defaultInput is ./data or ./docs where it exists and nothing else was said.
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

func (p *plan) openStage(o opener) error {
	if p.analysis.Stage == "" {
		return nil
	}
	fd, err := unix.Open(p.analysis.Stage, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("--stage %q: %w; give a directory", p.analysis.Stage, inode.Plain(err))
	}
	p.stage = os.NewFile(uintptr(fd), p.analysis.Stage)
	_, _, err = o.keepOut(fmt.Sprintf("--stage %q", p.analysis.Stage), p.stage)
	return err
}

// checkExport refuses a target that has something in it before anything runs.
func checkExport(dir string, overwrite bool) error {
	if dir == "" || overwrite {
		return nil
	}
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("--export %q: %w; give a directory", dir, inode.Plain(err))
	case len(entries) > 0:
		return fmt.Errorf("--export %q is not empty; choose another directory or add --overwrite", dir)
	}
	return nil
}

// resolveCommand makes the argument vector as it is inside.
func (p *plan) resolveCommand() error {
	p.command = p.analysis.Command
	if p.inputs.script == nil {
		return nil
	}
	line, err := firstLine(p.inputs.script.file)
	if err != nil {
		return fmt.Errorf("--script %q: %w", p.analysis.Script, err)
	}
	interpreter, err := spec.Interpreter(p.analysis.Script, line)
	if err != nil {
		return err
	}
	p.command = slices.Concat(interpreter, []string{p.inputs.script.inside}, p.analysis.Args)
	return nil
}

// firstLine reads at most as much as the kernel does of a shebang (BINPRM_BUF_SIZE, 256 bytes).
func firstLine(f *os.File) (string, error) {
	line, err := bufio.NewReader(io.NewSectionReader(f, 0, 256)).ReadString('\n')
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return line, err
}
