package runner

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/rootfs"
	"github.com/scidex-ai/scidex-oci/runner/cgroup"
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
	inputs   *inputSet
	stage    *os.File // --stage, nil where not asked for
	tree     rootfs.Tree
	command  []string
	parent   *cgroup.Parent // nil: no control group (best effort)
	declared *outputs.Declared
	warnings []string
}

func (p *plan) close() error {
	return errors.Join(p.inputs.close(), closeFile(p.stage), p.slot.Release())
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
func (r *Runner) prepare(ctx context.Context, req Request, account sandbox.Account) (_ *plan, err error) {
	analysis, err := complete(req.Analysis)
	if err != nil {
		return nil, err
	}
	key, err := r.nextAttempt(ctx, analysis.ID, req.Again)
	if err != nil {
		return nil, err
	}
	source, err := r.scriptSource(ctx, analysis, key, req.Again)
	if err != nil {
		return nil, err
	}
	p, err := resolve(analysis, key, source, account)
	if err != nil {
		return nil, err
	}
	return p, p.orClose(first(
		func() error { return p.chooseLimits(req.Analysis.CPUs != 0) },
		func() error { return checkExport(analysis.Export, req.Overwrite) },
		func() error { return r.checkDirectory(ctx, key) },
	))
}

// resolve opens and looks up everything that an analysis names.
func resolve(a spec.Analysis, key catalog.Key, scriptSource string, account sandbox.Account) (p *plan, err error) {
	a.ID = key.ID
	p = &plan{analysis: a, key: key, account: account, inputs: &inputSet{}}
	if p.secrets, err = readSecrets(a.Secrets); err != nil {
		return nil, err
	}
	if p.declared, err = outputs.NewDeclared(a.Outputs); err != nil {
		return nil, err
	}
	if err := p.chooseIDs(); err != nil {
		return nil, err
	}
	reader := reader{own: p.analysis.IDs == spec.IDsSelf, root: account.Root()}
	inputs, err := openInputs(p.analysis, scriptSource, reader)
	if err != nil {
		return nil, p.orClose(err)
	}
	p.inputs = inputs
	return p, p.orClose(first(p.openStage, p.resolveCommand))
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

// nextAttempt returns the key of the next execution of an id; an empty id gets a new one.
func (r *Runner) nextAttempt(ctx context.Context, id string, again bool) (catalog.Key, error) {
	if id == "" {
		id, err := newID()
		return catalog.Key{ID: id, Attempt: 1}, err
	}
	last, err := r.Catalog.Get(ctx, catalog.Key{ID: id})
	switch {
	case errors.Is(err, catalog.ErrNotFound) && again:
		return catalog.Key{}, fmt.Errorf("--again %s: the catalog has no run of that id", id)
	case errors.Is(err, catalog.ErrNotFound):
		return catalog.Key{ID: id, Attempt: 1}, nil
	case err != nil:
		return catalog.Key{}, fmt.Errorf("look up %s: %w", id, err)
	case !last.State.Final():
		return catalog.Key{}, fmt.Errorf("id %s is in use: attempt %d is %s; stop it, or run gc if it was killed", id, last.Attempt, last.State)
	case !again && (last.State == catalog.Complete || last.State == catalog.Failed):
		return catalog.Key{}, fmt.Errorf("id %s was used before and is %s; choose another id, or repeat it with --again %s", id, last.State, id)
	default:
		return catalog.Key{ID: id, Attempt: last.Attempt + 1}, nil
	}
}

func newID() (string, error) {
	var random [4]byte
	_, err := rand.Read(random[:])
	return spec.NewID(time.Now(), random), err
}

// chooseIDs locks a pair of ids for the run.
func (p *plan) chooseIDs() (err error) {
	asked := p.analysis.IDs
	switch {
	case asked == spec.IDsSelf && p.account.Root():
		return errors.New("--ids self would be the host's root here; run as an ordinary user, or leave it out: the run gets ids of its own")
	case asked == spec.IDsRange && !p.account.HasRange():
		return fmt.Errorf("--ids range: this user has no range of ids%s; add one (usermod --add-subuids 100000-165535 --add-subgids 100000-165535 USER) or use --ids self",
			parenthesis(p.account.Notice))
	case p.account.Root() && !p.account.HasRange():
		return errors.New("root has no ids to give here: its own user namespace maps too few; start the outer container with a larger id map")
	}
	if p.account.Notice != "" {
		p.warnings = append(p.warnings, p.account.Notice)
	}
	p.analysis.IDs = spec.IDsSelf
	if p.account.HasRange() && asked != spec.IDsSelf {
		p.analysis.IDs = spec.IDsRange
	}
	if p.single() && len(p.account.Groups) > 0 && asked != spec.IDsSelf && p.analysis.Limits == spec.LimitsEnforce {
		return fmt.Errorf("the analysis would keep the caller's supplementary groups %v, which a user without a range in /etc/subuid cannot drop; get a range, or accept that with --ids self", p.account.Groups)
	}
	p.slot, err = p.account.AcquireSlot(p.analysis.IDs == spec.IDsSelf)
	return err
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// chooseLimits finds who is to hold the limits. A default CPU limit yields where only the cpu
// controller is missing; one that was asked for does not.
func (p *plan) chooseLimits(cpusAsked bool) error {
	parent, err := cgroup.Find(cgroup.System{Root: p.account.Root()})
	var missing *cgroup.MissingError
	switch {
	case errors.As(err, &missing) && p.analysis.Limits == spec.LimitsBestEffort:
		return nil
	case errors.As(err, &missing):
		return fmt.Errorf("limits cannot be enforced: %w", missing)
	case err != nil:
		return err
	case !parent.CPU && cpusAsked && p.analysis.Limits == spec.LimitsEnforce:
		return fmt.Errorf("--cpus %g cannot be enforced: the cpu controller is not delegated; delegate it (Delegate=cpu memory pids), or leave --cpus out", p.analysis.CPUs)
	}
	p.parent = parent
	return nil
}

// scriptSource is the script's file. A run that is repeated has the script as it was kept, unless another
// one is named; a project shows its own.
func (r *Runner) scriptSource(ctx context.Context, a spec.Analysis, key catalog.Key, again bool) (string, error) {
	if !again || a.Script == "" || a.Project != "" {
		return a.Script, nil
	}
	last, err := r.Catalog.Get(ctx, catalog.Key{ID: key.ID, Attempt: key.Attempt - 1})
	if err != nil {
		return "", err
	}
	result, err := newResult(last)
	if err != nil {
		return "", err
	}
	var before spec.Analysis
	if err := json.Unmarshal(last.Request, &before); err != nil {
		return "", fmt.Errorf("read the recorded request: %w", err)
	}
	if result.Script == nil || result.Script.SHA256 == "" || before.Script != a.Script {
		return a.Script, nil
	}
	return r.Blobs.Path(result.Script.SHA256)
}

func (p *plan) openStage() (err error) {
	if p.analysis.Stage == "" {
		return nil
	}
	fd, err := unix.Open(p.analysis.Stage, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("--stage %q: %w; give a directory", p.analysis.Stage, plain(err))
	}
	p.stage = os.NewFile(uintptr(fd), p.analysis.Stage)
	return nil
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
		return fmt.Errorf("--export %q: %w; give a directory", dir, plain(err))
	case len(entries) > 0:
		return fmt.Errorf("--export %q is not empty; choose another directory or add --overwrite", dir)
	}
	return nil
}

// resolveCommand makes the argument vector as it is inside, and the root filesystem.
func (p *plan) resolveCommand() (err error) {
	if p.tree, err = rootfs.Host("/", p.uid()); err != nil {
		return err
	}
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

// checkDirectory refuses an id whose directory exists already, unless it is the kept one of the
// attempt before.
func (r *Runner) checkDirectory(ctx context.Context, key catalog.Key) error {
	path := runDir(r.Tmp, key.ID)
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if kept, err := r.keptByUs(ctx, key); err != nil || kept {
		return err
	}
	return fmt.Errorf("%s exists already and is not ours to use; choose another --id, or remove it", path)
}
