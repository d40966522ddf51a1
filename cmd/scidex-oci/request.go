package main

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
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/spec"
)

// runRequest is a request as the command line gives it: the analysis and how to run it.
type runRequest struct {
	analysis                      spec.Analysis
	again, overwrite, json, quiet bool
	detach                        bool
	noAudit, anyRoot, reuse       bool
	hook                          *runner.Hook // nil: none
}

// finder resolves what a person types for a run.
type finder func(ctx context.Context, name string) (catalog.Run, error)

// newRequestParser turns a command line into a runRequest. Values win in the order flags, environment, manifest or
// recorded request, config file.
type requestParser struct {
	global *options.Global
	run    *options.Run
	words  []string // what follows the flags: a command, or the arguments of --script
	stdin  io.Reader
	dir    string // the working directory
	env    options.Lookup
	// elsewhere says that another process runs the analysis: its environment has the values of secrets.
	elsewhere bool
}

// options are the switches, and the command that is called with the result.
func (k requestParser) options() (o runRequest, err error) {
	o = runRequest{
		again: k.run.Again != "", overwrite: k.run.Overwrite, json: k.run.JSON, quiet: k.run.Quiet, detach: k.run.Detach,
		noAudit: k.run.NoAudit, reuse: k.run.Reuse,
		// An image that is named here means what it is now.
		anyRoot: k.run.HasRootfs(),
	}
	o.hook, err = hookOf(k.run.Hook, k.env)
	return o, err
}

// analysis makes the request. With an error, the first, it is as far as it is known.
func (k requestParser) analysis(ctx context.Context, find finder) (spec.Analysis, error) {
	base, problem := k.base(ctx, find)
	a, err := k.run.Over(base)
	problem = cmp.Or(err, problem)
	a, err = k.command(a)
	problem = cmp.Or(problem, err)
	a.Runtime, err = k.global.Runtime(a.Runtime)
	return a, cmp.Or(problem, err, k.missingSecret(a))
}

// base is the manifest or the recorded request, or nothing.
func (k requestParser) base(ctx context.Context, find finder) (spec.Analysis, error) {
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

func (k requestParser) manifest(file string) (spec.Analysis, error) {
	dir := k.dir
	if file != "-" {
		file = k.run.File.Path("")
		dir = filepath.Dir(file)
	}
	data, err := userfile.Read(file, k.stdin)
	if err != nil {
		return spec.Analysis{}, fmt.Errorf("manifest: %w", err)
	}
	a, err := spec.ParseManifest(data, file)
	if err != nil {
		return spec.Analysis{}, err
	}
	return a.ResolvePaths(dir), nil
}

// recorded is the request of a run in the catalog. What was exported then was delivered then.
func (k requestParser) recorded(ctx context.Context, find finder, name string) (spec.Analysis, error) {
	var a spec.Analysis
	if k.run.HasID() {
		return a, errors.New("--again names the id already; leave --id out")
	}
	run, err := find(ctx, name)
	if err != nil {
		return a, stores.NotFound(name, err)
	}
	if err := json.Unmarshal(run.Request, &a); err != nil {
		return a, fmt.Errorf("recorded request of %q: %w", run.ID, err)
	}
	a.ID, a.Export = run.ID, ""
	return a, nil
}

// command puts the words of the command line where they belong.
func (k requestParser) command(a spec.Analysis) (spec.Analysis, error) {
	switch {
	case k.run.HasScript():
		a.Command, a.Args = nil, k.words
	case len(k.words) > 0:
		a.Command, a.Script, a.Args = k.words, "", nil
	}
	if len(a.Command) > 0 && a.Script != "" {
		return a, errors.New(`both a command and a script; give one: "run [flags] -- COMMAND [ARG...]" or "run [flags] --script FILE [ARG...]"`)
	}
	if len(a.Command) == 0 && a.Script == "" {
		return a, errors.New(`nothing to run; give a command, "run [flags] -- COMMAND [ARG...]", or a script, "run [flags] --script FILE [ARG...]"`)
	}
	return a, nil
}

// missingSecret refuses a secret that this command's environment does not hold.
func (k requestParser) missingSecret(a spec.Analysis) error {
	for _, name := range a.Secrets {
		if _, ok := k.env(name); !ok && !k.elsewhere {
			return fmt.Errorf("secret %q: no such variable in the environment of this command; export it, or leave the secret out", name)
		}
	}
	return nil
}

// cutPath splits a relative path after its first component.
func cutPath(name string) (first, rest string, deep bool) {
	return strings.Cut(filepath.Clean(name), "/")
}

// local are the arguments of a command that name a file in dir which the analysis does not see: for a
// hint where the command fails.
func local(command []string, dir string) []string {
	var found []string
	for _, word := range command {
		if !filepath.IsLocal(word) || seen(word) {
			continue
		}
		if info, err := os.Stat(filepath.Join(dir, word)); err == nil && info.Mode().IsRegular() {
			found = append(found, word)
		}
	}
	return found
}

// seen reports whether a relative path is below a link that /work has.
func seen(name string) bool {
	first, _, deep := cutPath(name)
	return deep && (first == "data" || first == "docs")
}
