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
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/runner/check/selftest/canary"
	"github.com/scidex-ai/scidex-oci/runner/phase"
	"github.com/scidex-ai/scidex-oci/runner/plan"
	"github.com/scidex-ai/scidex-oci/spec"
)

// view is what a run with the caller's flags sees of the host.
type view struct {
	Analysis  spec.Analysis // complete
	Inputs    []input       // data, docs, project, further inputs
	Variables []string      // names in the environment
}

// look gets the OCI specification that a run of the analysis would have.
func look(ctx context.Context, r *phase.Host, a spec.Analysis, id string) (v view, err error) {
	wanted := a
	wanted.ID, wanted.Command = id, []string{canary.ProgramPath}
	wanted.WorkStorage = spec.WorkDisk // other runtimes show no tmpfs twice (--workdir)
	raw, err := plan.Spec(ctx, r, wanted)
	if err != nil {
		return v, err
	}
	var config specs.Spec
	if err := json.Unmarshal(raw, &config); err != nil {
		return v, fmt.Errorf("read the OCI specification: %w", err)
	}
	if v.Analysis, err = completed(a, config.Mounts); err != nil {
		return v, err
	}
	for _, m := range config.Mounts {
		if m.Type == "bind" && !slices.Contains(m.Options, "rw") && isInput(m.Destination) {
			v.Inputs = append(v.Inputs, newInput(m.Source, m.Destination))
		}
	}
	for _, variable := range config.Process.Env {
		name, _, _ := strings.Cut(variable, "=")
		v.Variables = append(v.Variables, name)
	}
	v.Variables = append(v.Variables, a.Secrets...) // whose names the specification does not hold
	return v, nil
}

// completed sets the inputs that the runner found by default.
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

// outside returns the host's path of a path inside, or "".
func (v view) outside(inside string) string {
	for _, in := range v.Inputs {
		if inside == in.Inside {
			return in.Source
		}
		if rest, below := strings.CutPrefix(inside, in.Inside+"/"); below {
			return path.Join(in.Source, rest)
		}
	}
	return ""
}

// input is a file or directory of the host that a run sees.
type input struct {
	Source, Inside string
	Dir            bool
	File           string // a regular file in a directory, relative; empty if none was found
	before         times  // of the source
}

// isInput tells the caller's inputs from mounts of the root filesystem and /work, over which no input can be bound.
func isInput(destination string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(destination, "/"), "/")
	switch first {
	case "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "dev", "work":
		return false
	}
	return true
}

// newInput looks at a file or directory of the host that a run sees inside.
func newInput(source, inside string) input {
	in := input{Source: source, Inside: inside, before: timesOf(source)}
	info, err := os.Stat(source)
	in.Dir = err == nil && info.IsDir()
	if in.Dir {
		in.File = findFile(source)
	}
	return in
}

// findFile finds a regular file among the first entries of a tree. Its path is relative to dir.
func findFile(dir string) (found string) {
	const most = 1000 // entries
	seen := 0
	_ = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		seen++
		switch {
		case seen > most:
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

// isText reports whether JSON can hold a name.
func isText(name string) bool { return strings.ToValidUTF8(name, "") == name }

// changed reports whether the source has changed.
func (in input) changed() bool { return timesOf(in.Source) != in.before }

// times of a file in nanoseconds; 0 if they cannot be read.
type times struct{ modified, changed int64 }

func timesOf(path string) times {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return times{}
	}
	return times{modified: st.Mtim.Nano(), changed: st.Ctim.Nano()}
}

// What a canary needs: the Go runtime needs some megabytes, a dozen threads and, under an rlimit, which counts their stacks
// in full, much address space that it never touches.
const (
	minMemory  = 64 * spec.MiB
	minData    = 256 * spec.MiB
	minPids    = 40
	minFiles   = 20
	minCPUs    = 0.5
	minTimeout = spec.Duration(canary.MaxLife)
)

// raised raises limits that are too low for a canary. What it reaches does not depend on them; separate runs prove that
// limits hold.
func raised(a spec.Analysis) spec.Analysis {
	a = defaults(a)
	a.Memory = max(a.Memory, minMemory)
	if a.Limits == spec.LimitsBestEffort {
		a.Memory = max(a.Memory, minData)
	}
	a.Pids, a.WorkFiles = max(a.Pids, minPids), max(a.WorkFiles, minFiles)
	if a.CPUs != 0 {
		a.CPUs = max(a.CPUs, minCPUs)
	}
	a.Timeout = max(a.Timeout, minTimeout)
	return a
}

// defaults sets defaults, except the number of CPUs: if that cannot be enforced, a run with the default starts and a run
// that requests the same number is refused.
func defaults(a spec.Analysis) spec.Analysis {
	cpus := a.CPUs
	a = a.WithDefaults()
	a.CPUs = cpus
	return a
}

// raisedLimits say which limits are higher for canaries than for the caller's runs.
func raisedLimits(asked spec.Analysis) (notes []string) {
	given := raised(asked)
	for _, limit := range []struct{ name, asked, given string }{
		{"memory", asked.Memory.String(), given.Memory.String()},
		{"pids", fmt.Sprint(asked.Pids), fmt.Sprint(given.Pids)},
		{"cpus", fmt.Sprint(asked.CPUs), fmt.Sprint(given.CPUs)},
		{"timeout", asked.Timeout.String(), given.Timeout.String()},
	} {
		if limit.asked != limit.given {
			notes = append(notes, fmt.Sprintf("the canaries had %s %s instead of %s, because they may need it; that limits hold is proven by runs of their own", limit.name, limit.given, limit.asked))
		}
	}
	return notes
}
