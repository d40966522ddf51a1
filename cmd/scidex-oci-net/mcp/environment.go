package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// environmentProgram prints what a run has.
//
//go:embed environment.py
var environmentProgram string

const (
	// mostPackages and mostData bound what an answer lists; mostLooked bounds the entries of directories that are looked at.
	mostPackages = 200
	mostData     = 100
	mostLooked   = 20_000
	// lookTime and lookMemory bound the run that looks for all this, below the operator's limits; lookPrinted bounds what it prints.
	lookTime    = time.Minute
	lookMemory  = 512 << 20
	lookPrinted = 4 << 20
)

// environmentInput chooses packages and files.
type environmentInput struct {
	Packages string `json:"packages,omitempty" jsonschema:"only those with this in their name or that of a module"`
	Files    string `json:"files,omitempty" jsonschema:"only those with this in their path"`
}

// environment is what a run has.
type environment struct {
	Languages     []string          `json:"languages" jsonschema:"that run_code can run here"`
	Python        string            `json:"python,omitempty" jsonschema:"its version"`
	Packages      []string          `json:"packages" jsonschema:"of Python, as NAME==VERSION, with the modules to import if they have other names"`
	PackagesTotal int               `json:"packages_total,omitempty" jsonschema:"if there are more"`
	Files         []named           `json:"files" jsonschema:"that the operator shares"`
	FilesTotal    int               `json:"files_total,omitempty" jsonschema:"if there are more"`
	Limits        map[string]string `json:"limits" jsonschema:"the defaults, and the most that run_code may ask for"`
	Network       string            `json:"network"`
	Warning       string            `json:"warning,omitempty"`
}

// getEnvironment answers with what a run has. A run looks for it, each time: what it finds is what the next run finds.
func (t *tools) getEnvironment(ctx context.Context, r *mcp.CallToolRequest, in environmentInput) (*mcp.CallToolResult, environment, error) {
	out := environment{Languages: []string{}, Packages: []string{}, Files: []named{}, Limits: map[string]string{}, Network: network(t.bounds)}
	for _, f := range spec.Fields() {
		if f.Bounded {
			out.Limits[f.Name] = f.Text(t.bounds)
		}
	}
	leave, err := t.enter()
	if err != nil {
		return nil, out, err
	}
	defer leave()
	ctx, left := t.open.enter(ctx, r.Session)
	defer left()
	found, err := t.look(ctx, in.Files)
	if err != nil {
		out.Warning = "what a run can import and read could not be found: " + format.Line(inFields.Replace(err.Error()), 500)
		return nil, out, nil
	}
	out.addPackages(found, in.Packages)
	out.addFiles(found)
	return nil, out, nil
}

// seen is what environmentProgram prints. The root filesystem may be anyone's, so nothing is promised of it.
type seen struct {
	Python    string   `json:"python"`
	Languages []string `json:"languages"`
	Packages  []struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Modules []string `json:"modules"` // that have other names
	} `json:"packages"`
	Files      []named `json:"files"`
	FilesTotal int64   `json:"files_total"`
	FilesLeft  bool    `json:"files_left"`
}

// look looks for what a run has in a run of its own, as one of run_code is. One looks at a time. files is a part of their paths.
func (t *tools) look(ctx context.Context, files string) (found seen, err error) {
	select {
	case t.looks <- struct{}{}:
		defer func() { <-t.looks }()
	case <-ctx.Done():
		return found, ctx.Err()
	}
	command := []string{"python3", "-c", environmentProgram, files, strconv.Itoa(mostData), strconv.Itoa(mostLooked)}
	a, err := t.over(spec.Analysis{Command: append(command, shared(t.bounds)...)})
	if err != nil {
		return found, err
	}
	a.Timeout, a.Memory = min(t.bounds.Timeout, spec.Duration(lookTime)), min(t.bounds.Memory, lookMemory)
	a.DigestInputs = spec.DigestScript // nobody reads the digests
	printed, err := t.Engine.Print(ctx, a, lookPrinted)
	if err == nil {
		err = json.Unmarshal(printed, &found)
	}
	return found, err
}

// shared are the paths inside of what the operator shares.
func shared(bounds spec.Analysis) (paths []string) {
	if bounds.Data != spec.None {
		paths = append(paths, "/data")
	}
	if bounds.Docs != spec.None {
		paths = append(paths, "/docs")
	}
	for _, text := range bounds.Inputs {
		if in, err := spec.ParseInput(text); err == nil {
			paths = append(paths, in.Destination)
		}
	}
	return paths
}

// addPackages adds those with a part of a name, up to the bound.
func (out *environment) addPackages(found seen, part string) {
	out.Python = screen.Escape(format.Cut(found.Python, mostName))
	for _, language := range slices.Sorted(maps.Keys(extensions)) {
		if slices.Contains(found.Languages, language) {
			out.Languages = append(out.Languages, language)
		}
	}
	total := 0
	for _, p := range found.Packages {
		if !matches(part, append([]string{p.Name}, p.Modules...)...) {
			continue
		}
		if total++; total > mostPackages {
			continue
		}
		text := p.Name
		if p.Version != "" {
			text += "==" + p.Version
		}
		if len(p.Modules) > 0 {
			text += " (import " + strings.Join(p.Modules, ", ") + ")"
		}
		out.Packages = append(out.Packages, screen.Escape(format.Cut(text, mostName)))
	}
	out.PackagesTotal = int(beyond(int64(total), len(out.Packages)))
}

// matches reports whether a name has a part, whatever its case and with "-", "_" and "." as the same.
func matches(part string, names ...string) bool {
	plain := strings.NewReplacer("-", "_", ".", "_")
	part = plain.Replace(strings.ToLower(part))
	for _, name := range names {
		if strings.Contains(plain.Replace(strings.ToLower(name)), part) {
			return true
		}
	}
	return false
}

// addFiles adds files, up to the bound.
func (out *environment) addFiles(found seen) {
	for _, f := range found.Files[:min(len(found.Files), mostData)] {
		out.Files = append(out.Files, named{screen.Escape(format.Cut(f.Path, unix.PathMax)), f.Size})
	}
	out.FilesTotal = int(beyond(found.FilesTotal, len(out.Files)))
	if found.FilesLeft {
		out.Warning = fmt.Sprintf("there are more files than the %d that were looked at", mostLooked)
	}
}
