package mcp

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// packagesProgram prints what a run of Python can import.
//
//go:embed packages.py
var packagesProgram string

const (
	// mostPackages and mostData bound what an answer lists.
	mostPackages = 200
	mostData     = 100
	// packagesTime and packagesMemory bound the run that looks for packages, below the operator's limits; packagesPrinted bounds what it prints.
	packagesTime    = time.Minute
	packagesMemory  = 512 << 20
	packagesPrinted = 1 << 20
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

// getEnvironment answers with what a run has. A run looks for packages, each time: what it finds is what the next run finds.
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
	out.addFiles(t.bounds, in.Files)
	ctx, left := t.open.enter(ctx, r.Session)
	defer left()
	found, err := t.packages(ctx)
	if err != nil {
		t.Stores.Host.Log.Warn("the packages that a run can import were not found", "error", err)
		out.Warning = "what a run can import could not be found: try it with run_code"
		return nil, out, nil
	}
	out.addPackages(found, in.Packages)
	return nil, out, nil
}

// packages are what packagesProgram prints.
type packages struct {
	Python    string   `json:"python"`
	Languages []string `json:"languages"`
	Packages  []struct {
		Name    string   `json:"name"`
		Version string   `json:"version"`
		Modules []string `json:"modules"` // that have other names
	} `json:"packages"`
}

// packages looks for packages in a run of its own, as one of run_code is but for data. One looks at a time.
func (t *tools) packages(ctx context.Context) (found packages, err error) {
	select {
	case t.looks <- struct{}{}:
		defer func() { <-t.looks }()
	case <-ctx.Done():
		return found, ctx.Err()
	}
	a, err := t.over(spec.Analysis{Command: []string{"python3", "-c", packagesProgram}, Data: spec.None, Docs: spec.None})
	if err != nil {
		return found, err
	}
	a.Timeout, a.Memory = min(t.bounds.Timeout, spec.Duration(packagesTime)), min(t.bounds.Memory, packagesMemory)
	printed, err := t.Engine.Print(ctx, a, packagesPrinted)
	if err == nil {
		err = json.Unmarshal(printed, &found)
	}
	return found, err
}

// addPackages adds those with a part of a name, up to the bound.
func (out *environment) addPackages(found packages, part string) {
	out.Python = screen.Escape(found.Python)
	out.Languages = append(out.Languages, found.Languages...)
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

// addFiles adds the files of the operator's data and documents with a part of a path, up to the bound.
func (out *environment) addFiles(bounds spec.Analysis, part string) {
	s := shelf{out: out, part: part, left: mostLooked}
	s.add(bounds.Data, "/data")
	s.add(bounds.Docs, "/docs")
	for _, text := range bounds.Inputs {
		if in, err := spec.ParseInput(text); err == nil && filepath.IsAbs(in.Source) {
			s.add(in.Source, in.Destination)
		}
	}
	out.FilesTotal = int(beyond(int64(s.total), len(out.Files)))
	if s.left == 0 {
		out.Warning = fmt.Sprintf("there are more files than the %d that were looked at", mostLooked)
	}
}

// mostLooked bounds the entries of directories that are looked at.
const mostLooked = 20_000

// shelf lists files.
type shelf struct {
	out   *environment
	part  string
	total int
	left  int // entries that may still be looked at
}

// add adds a file, or those below a directory, by the path that a run sees. No link out of a directory is followed.
func (s *shelf) add(host, inside string) {
	if host == spec.None || host == "" {
		return
	}
	if info, err := os.Stat(host); err == nil && info.Mode().IsRegular() {
		s.note(inside, info.Size())
		return
	}
	root, err := os.OpenRoot(host)
	if err != nil {
		return
	}
	defer root.Close()
	for dirs := []string{"."}; len(dirs) > 0 && s.left > 0; dirs = dirs[1:] {
		dirs = append(dirs, s.addDir(root, dirs[0], inside)...)
	}
}

// addDir adds the files of a directory, and returns the directories in it.
func (s *shelf) addDir(root *os.Root, dir, inside string) (dirs []string) {
	f, err := root.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(s.left) // what could be read
	s.left -= len(entries)
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if e.IsDir() {
			dirs = append(dirs, name)
		} else if info, err := root.Stat(name); err == nil && info.Mode().IsRegular() {
			s.note(filepath.Join(inside, name), info.Size())
		}
	}
	return dirs
}

// note lists a file with the part in its path.
func (s *shelf) note(path string, size int64) {
	if !strings.Contains(strings.ToLower(path), strings.ToLower(s.part)) {
		return
	}
	if s.total++; s.total <= mostData {
		s.out.Files = append(s.out.Files, named{screen.Escape(path), size})
	}
}
