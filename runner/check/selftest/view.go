package selftest

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/runtime-spec/specs-go"

	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// view is what a run with the caller's flags sees of the host.
type view struct {
	analysis  spec.Analysis // complete
	inputs    []bind        // data, docs, project, further inputs
	variables []string      // names in the environment
}

// bind is something of the host that a run sees.
type bind struct {
	source, inside string
	dir            bool
	file           string // a regular file in a directory, relative; empty where none was found
	before         stamp  // of the source
}

// look asks the runner for the OCI specification that a run would have.
func (t *test) look(ctx context.Context) (v view, err error) {
	a := t.options.Analysis
	a.ID, a.Command = t.id, []string{programPath}
	raw, err := plan.Spec(ctx, t.runner, a)
	if err != nil {
		return v, err
	}
	var config specs.Spec
	if err := json.Unmarshal(raw, &config); err != nil {
		return v, fmt.Errorf("read the OCI specification: %w", err)
	}
	if v.analysis, err = completed(t.options.Analysis, config.Mounts); err != nil {
		return v, err
	}
	for _, m := range config.Mounts {
		if m.Type == "bind" && isInput(m.Destination) {
			v.inputs = append(v.inputs, newBind(m.Source, m.Destination))
		}
	}
	for _, variable := range config.Process.Env {
		name, _, _ := strings.Cut(variable, "=")
		v.variables = append(v.variables, name)
	}
	v.variables = append(v.variables, a.Secrets...) // which a specification that is shown does not hold
	return v, nil
}

// completed fills in what the runner found by itself.
func completed(a spec.Analysis, mounts []specs.Mount) (spec.Analysis, error) {
	dir, err := os.Getwd()
	if err != nil {
		return a, err
	}
	for inside, field := range map[string]*string{"/data": &a.Data, "/docs": &a.Docs} {
		i := slices.IndexFunc(mounts, func(m specs.Mount) bool { return m.Destination == inside })
		if i >= 0 {
			*field = mounts[i].Source
		} else {
			*field = spec.None
		}
	}
	return defaults(a.ResolvePaths(dir)), nil
}

// defaults fills in what was not asked for but the number of CPUs: where nobody can hold that, a run with
// the default goes on and one that has asked for as many is refused.
func defaults(a spec.Analysis) spec.Analysis {
	cpus := a.CPUs
	a = a.WithDefaults()
	a.CPUs = cpus
	return a
}

// isInput tells the caller's inputs from what belongs to the root filesystem and from /work: nobody can
// bind an input over one of those.
func isInput(destination string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(destination, "/"), "/")
	switch first {
	case "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "work":
		return false
	}
	return true
}

func newBind(source, inside string) bind {
	b := bind{source: source, inside: inside}
	info, err := os.Stat(source)
	b.dir = err == nil && info.IsDir()
	if b.dir {
		b.file = someFile(source)
	}
	b.before = stampOf(source)
	return b
}

// someFile finds a regular file that is not deep down; its path is relative to dir.
func someFile(dir string) (found string) {
	const most = 1000 // entries
	looked := 0
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		looked++
		switch {
		case looked > most:
			return filepath.SkipAll
		case err != nil:
			return filepath.SkipDir
		case entry.Type().IsRegular():
			if rel, err := filepath.Rel(dir, name); err == nil && isText(rel) {
				found = rel
				return filepath.SkipAll
			}
		}
		return nil
	})
	return found
}

// isText reports whether a name goes through JSON unchanged.
func isText(name string) bool { return strings.ToValidUTF8(name, "") == name }

// stamp tells whether a file was changed.
type stamp struct{ modified, changed int64 } // nanoseconds; 0 where it cannot be looked at

// changed reports whether the source is not as it was.
func (b bind) changed() bool { return stampOf(b.source) != b.before }

// outside is the host's path of a path inside, or "".
func (v view) outside(inside string) string {
	for _, b := range v.inputs {
		if inside == b.inside {
			return b.source
		}
		if rest, below := strings.CutPrefix(inside, b.inside+"/"); below {
			return path.Join(b.source, rest)
		}
	}
	return ""
}

// roomy raises limits that a canary could not live with. What it reaches does not hang on them; that they
// hold is proven by runs of their own.
func roomy(a spec.Analysis) spec.Analysis {
	a = defaults(a)
	a.Memory = max(a.Memory, leastMemory)
	if a.Limits == spec.LimitsBestEffort {
		a.Memory = max(a.Memory, leastData)
	}
	a.Pids, a.WorkFiles = max(a.Pids, leastPids), max(a.WorkFiles, leastFiles)
	if a.CPUs != 0 {
		a.CPUs = max(a.CPUs, leastCPUs)
	}
	a.Timeout = max(a.Timeout, leastTimeout)
	return a
}
