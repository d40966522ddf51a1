// Package runflags reads what to run from the flags of run, which several commands share: the analysis, the switches, and
// the lines of a batch.
package runflags

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Request is the analysis and how to run it, as the command line says.
type Request struct {
	Analysis spec.Analysis
	request.Switches
	Again, AnyScript, Reuse bool
	JSON, Quiet, Detach     bool
	NamesLimits             bool
	Hook                    *request.Hook // nil: none
}

// Finder finds a run by what a person types.
type Finder func(ctx context.Context, name string) (catalog.Run, error)

// Parser reads a Request from a command line. The order of precedence is: flags, environment, manifest or recorded request,
// config file.
type Parser struct {
	global *options.Global
	run    *options.Run
	Words  []string // what follows the flags: a command, or the arguments of --script
	stdin  io.Reader
	Dir    string // the working directory
	env    options.Lookup
	// elsewhere says that another process runs the analysis: its environment has the values of secrets.
	Elsewhere bool
}

// Caller is what hints need of this process.
func (k Parser) Caller() request.Caller { return NewCaller(k.Dir, k.env) }

// NewCaller reads what hints need of a process with that working directory and environment.
func NewCaller(dir string, env options.Lookup) request.Caller {
	return request.Caller{
		Dir: dir, Environment: cmp.Or(env.Text("VIRTUAL_ENV"), env.Text("CONDA_PREFIX")), Root: os.Geteuid() == 0,
	}
}

// Options reads the switches and the post-process command. The analysis is left empty.
func (k Parser) Options() (o Request, err error) {
	o = Request{
		Again: k.run.Again != "", JSON: k.run.JSON, Quiet: k.run.Quiet, Detach: k.run.Detach,
		Reuse: k.run.Reuse, NamesLimits: k.run.NamesLimits(),
		// An image or a script named here means its current content.
		Switches:  request.Switches{AnyRoot: k.run.HasRootfs(), Overwrite: k.run.Overwrite, NoAudit: k.run.NoAudit},
		AnyScript: k.run.HasScript(),
	}
	o.Hook, err = ReadHook(k.run.Hook, k.env)
	return o, err
}

// Analysis reads the analysis. On an error, the first, the analysis has what could be read.
func (k Parser) Analysis(ctx context.Context, find Finder) (spec.Analysis, error) {
	base, problem := k.base(ctx, find)
	a, err := k.run.Over(base)
	problem = cmp.Or(err, problem)
	a, err = k.command(a)
	problem = cmp.Or(problem, err)
	a.Runtime, err = k.global.Runtime(a.Runtime)
	return a, cmp.Or(problem, err, k.missingSecret(a), k.missingOfConfig(a))
}

// missingOfConfig refuses a directory of the config file that is not here, unless the run is elsewhere.
func (k Parser) missingOfConfig(a spec.Analysis) error {
	if k.Elsewhere {
		return nil
	}
	return k.run.MissingOfConfig(a)
}

// base is the manifest, the recorded request, or an empty analysis.
func (k Parser) base(ctx context.Context, find Finder) (spec.Analysis, error) {
	file, again := k.run.File.Value, k.run.Again
	switch {
	case file != "" && again != "":
		return spec.Analysis{}, errors.New("--file and --again both name a request; give one of them")
	case file != "":
		return k.manifest(file)
	case again != "":
		return k.recorded(ctx, find, again)
	}
	return spec.Analysis{}, nil
}

// ReadsStdin reports whether the manifest is the standard input.
func (k Parser) ReadsStdin() bool { return k.run.File.Value == "-" }

func (k Parser) manifest(file string) (spec.Analysis, error) {
	dir := k.Dir
	if file != "-" {
		file = k.run.File.Path("")
		dir = filepath.Dir(file)
	}
	data, err := userfile.Read(file, k.stdin)
	if err != nil {
		return spec.Analysis{}, inputs.Missing("manifest", file, err)
	}
	a, err := spec.ParseManifest(data, file)
	if err != nil {
		return spec.Analysis{}, err
	}
	return a.ResolvePaths(dir), nil
}

// recorded is the request of a run in the catalog, without its export: that was delivered.
func (k Parser) recorded(ctx context.Context, find Finder, name string) (spec.Analysis, error) {
	var a spec.Analysis
	if k.run.HasID() {
		return a, errors.New("--again names the id already; leave --id out")
	}
	run, err := find(ctx, name)
	if err != nil {
		return a, watch.NotFoundWhole(name, err)
	}
	if err := watch.WholeID(name, run); err != nil {
		return a, fmt.Errorf("--again: %w", err)
	}
	if err := json.Unmarshal(run.Request, &a); err != nil {
		return a, fmt.Errorf("recorded request of %q: %w", run.ID, err)
	}
	a.ID, a.Export = run.ID, ""
	return a, nil
}

// command assigns the words of the command line.
func (k Parser) command(a spec.Analysis) (spec.Analysis, error) {
	switch {
	case k.run.HasScript():
		a.Command, a.Args = nil, k.Words
	case len(k.Words) > 0:
		a.Command, a.Script, a.Args = k.Words, "", nil
	}
	if len(a.Command) > 0 && a.Script != "" {
		return a, errors.New(`both a command and a script; give one: "-- COMMAND [ARG...]" or "--script FILE [ARG...]"`)
	}
	if len(a.Command) == 0 && a.Script == "" {
		return a, errors.New(`nothing to run; give a command, "-- COMMAND [ARG...]", or a script, "--script FILE [ARG...]"`)
	}
	if a.Script == "" && len(k.Words) > 0 {
		return a, cmp.Or(imageWord(a), k.localScript(a))
	}
	return a, nil
}

// missingSecret refuses a secret that this command's environment does not hold.
func (k Parser) missingSecret(a spec.Analysis) error {
	for _, name := range a.Secrets {
		if _, ok := k.env(name); !ok && !k.Elsewhere && !strings.Contains(name, "=") { // Validate refuses one with a value
			return fmt.Errorf("secret %q: no such variable in the environment of this command; export it, or leave the secret out", name)
		}
	}
	return nil
}
