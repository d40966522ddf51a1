package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/spec"
)

// order is a request as the command line gives it: the analysis and how to run it.
type order struct {
	analysis                      spec.Analysis
	again, overwrite, json, quiet bool
	detach                        bool
	noAudit, anyRoot, reuse       bool
	hook                          *runner.Hook // nil: none
}

// finder resolves what a person types for a run.
type finder func(ctx context.Context, name string) (catalog.Run, error)

// clerk turns a command line into an order. Values win in the order flags, environment, manifest or
// recorded request, config file.
type clerk struct {
	layers layers
	words  []string // what follows the flags: a command, or the arguments of --script
	stdin  io.Reader
	dir    string // the working directory
	env    lookup
	// elsewhere says that another process runs the analysis: its environment has the values of secrets.
	elsewhere bool
}

// options reads the switches, which are known even where the rest is refused, and one of them is.
func (k clerk) options() (order, error) {
	o := order{again: k.layers.text("again", "") != ""}
	var problem error
	for _, flag := range []struct {
		name string
		on   *bool
	}{{"json", &o.json}, {"quiet", &o.quiet}, {"detach", &o.detach}, {"overwrite", &o.overwrite}, {"reuse", &o.reuse}} {
		var err error
		*flag.on, err = k.layers.on(flag.name)
		problem = cmp.Or(problem, err)
	}
	if problem != nil {
		return o, problem
	}
	var err error
	if o.hook, err = hookOf(options.Hook{Command: k.layers.asText("post-process"), Timeout: k.layers.asText("post-process-timeout"), On: k.layers.asText("post-process-on")}, k.env); err != nil {
		return o, err
	}
	// Who names an image here means what it is now; a config file does not say what a repeated run had.
	_, o.anyRoot = k.layers[:min(2, len(k.layers))].given("rootfs")
	o.noAudit, err = k.noAudit()
	return o, err
}

func (k clerk) noAudit() (bool, error) {
	from, ok := k.layers.given("audit")
	if !ok || from.text("audit") == "on" {
		return false, nil
	}
	if from.text("audit") != "off" {
		return false, fmt.Errorf("%s %q: give on or off", from.label("audit"), from.text("audit"))
	}
	return true, nil
}

// analysis makes the request. With an error, the first, it is as far as it is known.
func (k clerk) analysis(ctx context.Context, find finder) (spec.Analysis, error) {
	base, problem := k.base(ctx, find)
	a, err := k.layered(base)
	problem = cmp.Or(err, problem)
	a, err = k.command(a)
	problem = cmp.Or(problem, err)
	a.Runtime, err = k.layers.runtime(a.Runtime)
	return a, cmp.Or(problem, err, k.missingSecret(a))
}

// layered lays what the layers say over base, which is above the config file, the last layer.
func (k clerk) layered(base spec.Analysis) (a spec.Analysis, problem error) {
	problem = k.refuseNetwork()
	for i, from := range slices.Backward(k.layers) {
		over, err := from.analysis(k.env)
		problem = cmp.Or(problem, err)
		a = merge(a, over.ResolvePaths(from.dir))
		if i == len(k.layers)-1 {
			a = merge(a, base)
		}
	}
	return a, problem
}

// base is the manifest or the recorded request, or nothing.
func (k clerk) base(ctx context.Context, find finder) (spec.Analysis, error) {
	file, again := k.layers.text("file", ""), k.layers.text("again", "")
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

func (k clerk) manifest(file string) (spec.Analysis, error) {
	dir := k.dir
	if file != "-" {
		file = k.layers.path("file", "")
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
func (k clerk) recorded(ctx context.Context, find finder, name string) (spec.Analysis, error) {
	var a spec.Analysis
	if _, both := k.layers.given("id"); both {
		return a, errors.New("--again names the id already; leave --id out")
	}
	run, err := find(ctx, name)
	if err != nil {
		return a, noRun(name, err)
	}
	if err := json.Unmarshal(run.Request, &a); err != nil {
		return a, fmt.Errorf("recorded request of %q: %w", run.ID, err)
	}
	a.ID, a.Export = run.ID, ""
	return a, nil
}

func (k clerk) refuseNetwork() error {
	if from, ok := k.layers.given("network"); ok && from.text("network") != "none" {
		return fmt.Errorf("%s %q: a run never gets a network; the only value is none", from.label("network"), from.text("network"))
	}
	return nil
}

// command puts the words of the command line where they belong.
func (k clerk) command(a spec.Analysis) (spec.Analysis, error) {
	_, script := k.layers.given("script")
	switch {
	case script:
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
func (k clerk) missingSecret(a spec.Analysis) error {
	for _, name := range a.Secrets {
		if _, ok := k.env(name); !ok && !k.elsewhere {
			return fmt.Errorf("secret %q: no such variable in the environment of this command; export it, or leave the secret out", name)
		}
	}
	return nil
}

// merge lays over on base: what is given replaces, variables, secrets and labels are replaced
// one by one.
func merge(base, over spec.Analysis) spec.Analysis {
	a := base
	for _, field := range []struct{ to, from *string }{
		{&a.ID, &over.ID},
		{&a.Script, &over.Script},
		{&a.Data, &over.Data},
		{&a.Docs, &over.Docs},
		{&a.Project, &over.Project},
		{&a.Stage, &over.Stage},
		{&a.Export, &over.Export},
		{&a.Rootfs, &over.Rootfs},
		{&a.Runtime, &over.Runtime},
		{&a.IDs, &over.IDs},
		{&a.WorkStorage, &over.WorkStorage},
		{&a.Limits, &over.Limits},
		{&a.DigestInputs, &over.DigestInputs},
		{&a.Keep, &over.Keep},
	} {
		replace(field.to, *field.from)
	}
	replace(&a.Deterministic, over.Deterministic)
	replace(&a.Memory, over.Memory)
	replace(&a.LogSize, over.LogSize)
	replace(&a.WorkSize, over.WorkSize)
	replace(&a.WorkFiles, over.WorkFiles)
	replace(&a.CPUs, over.CPUs)
	replace(&a.Pids, over.Pids)
	replace(&a.Timeout, over.Timeout)
	replace(&a.Grace, over.Grace)
	for _, list := range []struct{ to, from *[]string }{
		{&a.Command, &over.Command},
		{&a.Args, &over.Args},
		{&a.Inputs, &over.Inputs},
		{&a.Outputs, &over.Outputs},
		{&a.Exclude, &over.Exclude},
	} {
		if *list.from != nil {
			*list.to = *list.from
		}
	}
	a.Labels = union(base.Labels, over.Labels)
	a.Env = union(base.Env, over.Env)
	a.Env, a.Secrets = mergeSecrets(a.Env, base.Secrets, over)
	return a
}

// mergeSecrets lets what over says of a name win over what was said of it below. A name that over itself
// has as both stays both, and is refused by the validation.
func mergeSecrets(env map[string]string, below []string, over spec.Analysis) (map[string]string, []string) {
	maps.DeleteFunc(env, func(name, _ string) bool {
		_, both := over.Env[name]
		return !both && slices.Contains(over.Secrets, name)
	})
	var secrets []string
	for _, name := range below {
		if _, variable := over.Env[name]; !variable {
			secrets = append(secrets, name)
		}
	}
	for _, name := range over.Secrets {
		if !slices.Contains(secrets, name) {
			secrets = append(secrets, name)
		}
	}
	return env, secrets
}

func replace[T comparable](to *T, from T) {
	var zero T
	if from != zero {
		*to = from
	}
}

func union(base, over map[string]string) map[string]string {
	if len(base)+len(over) == 0 {
		return nil
	}
	all := maps.Clone(base)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, over)
	return all
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
