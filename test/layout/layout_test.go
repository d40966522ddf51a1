// Package layout holds the measures that keep the code readable: the size of packages, types and files, and how much the
// files of a package depend on each other. They are a thermometer: find the better cut, do not merge files to please them.
package layout

import (
	"cmp"
	"go/ast"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

const (
	packageLines  = 2500 // of a package below runner
	cycleFiles    = 8    // files of a package that all lead to each other
	typeMethods   = 25
	structFields  = 16 // of a struct with more than structMethods
	structMethods = 5
	commandLines  = 300 // of a file below cmd
)

// load parses and checks the packages that patterns name, without tests and generated files.
func load(t *testing.T, patterns ...string) []*packages.Package {
	t.Helper()
	config := &packages.Config{
		Context: t.Context(), Dir: "../..", BuildFlags: []string{"-tags=" + os.Getenv("GO_TAGS")},
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports,
	}
	loaded, err := packages.Load(config, patterns...)
	if err != nil || len(loaded) == 0 {
		t.Fatalf("%d packages: %v", len(loaded), err)
	}
	for _, p := range loaded {
		for _, err := range p.Errors {
			t.Error(err)
		}
		p.Syntax = slices.DeleteFunc(p.Syntax, func(f *ast.File) bool { return ast.IsGenerated(f) })
	}
	return loaded
}

// TestPatterns: a regular expression that is compiled when a package is initialized is compiled in each start of the program.
func TestPatterns(t *testing.T) {
	for _, p := range load(t, "./cmd/...", "./outputs/...", "./rootfs/...", "./runner/...", "./spec/...") {
		for _, f := range p.Syntax {
			for _, d := range f.Decls {
				if _, is := d.(*ast.GenDecl); is {
					ast.Inspect(d, func(n ast.Node) bool { return compiles(t, p, n) })
				}
			}
		}
	}
}

// compiles reports whether what a declaration executes goes on below a node.
func compiles(t *testing.T, p *packages.Package, n ast.Node) bool {
	t.Helper()
	switch n := n.(type) {
	case *ast.FuncLit:
		return false
	case *ast.SelectorExpr:
		if n.Sel.Name == "MustCompile" && p.Name != "registrytest" {
			t.Errorf("%s compiles a regular expression when it is initialized", p.Fset.Position(n.Pos()))
		}
	}
	return true
}

func lines(p *packages.Package, f *ast.File) int { return p.Fset.File(f.Pos()).LineCount() }

func TestRunner(t *testing.T) {
	for _, p := range load(t, "./runner/...") {
		total := 0
		for _, f := range p.Syntax {
			total += lines(p, f)
		}
		if total > packageLines {
			t.Errorf("%s has %d lines, more than %d", p.PkgPath, total, packageLines)
		}
		if c := largestCycle(references(p)); len(c) > cycleFiles {
			t.Errorf("%s: %d files refer to each other in a cycle, more than %d: %s", p.PkgPath, len(c), cycleFiles, strings.Join(c, " "))
		}
		for _, name := range p.Types.Scope().Names() {
			if named, ok := p.Types.Scope().Lookup(name).Type().(*types.Named); ok {
				checkType(t, named)
			}
		}
	}
}

func checkType(t *testing.T, named *types.Named) {
	methods, fields := named.NumMethods(), 0
	if s, ok := named.Underlying().(*types.Struct); ok {
		fields = s.NumFields()
	}
	if methods > typeMethods {
		t.Errorf("%v has %d methods, more than %d", named, methods, typeMethods)
	}
	if fields > structFields && methods > structMethods {
		t.Errorf("%v has %d fields and %d methods: more than %d and more than %d", named, fields, methods, structFields, structMethods)
	}
}

func TestCommands(t *testing.T) {
	for _, p := range load(t, "./cmd/...") {
		for _, f := range p.Syntax {
			if n := lines(p, f); n > commandLines {
				t.Errorf("%s has %d lines, more than %d", p.Fset.Position(f.Pos()).Filename, n, commandLines)
			}
		}
	}
}

// references are, for each file of a package, the other files of it that declare what it uses.
func references(p *packages.Package) map[string][]string {
	uses := map[string][]string{}
	for _, f := range p.Syntax {
		from := filepath.Base(p.Fset.Position(f.Pos()).Filename)
		uses[from] = nil
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if to := declaredIn(p, id); to != "" && to != from && !slices.Contains(uses[from], to) {
					uses[from] = append(uses[from], to)
				}
			}
			return true
		})
	}
	return uses
}

// declaredIn is the file that declares what an identifier uses; empty where that is not in the package.
func declaredIn(p *packages.Package, id *ast.Ident) string {
	o := p.TypesInfo.Uses[id]
	if o == nil || o.Pkg() != p.Types || !o.Pos().IsValid() {
		return ""
	}
	return filepath.Base(p.Fset.Position(o.Pos()).Filename)
}

// largestCycle is the largest set of files that all reach each other.
func largestCycle(uses map[string][]string) (largest []string) {
	reach := map[string]map[string]bool{}
	for file := range uses {
		reach[file] = reachable(uses, file)
	}
	for file := range uses {
		var together []string
		for other := range reach[file] {
			if reach[other][file] {
				together = append(together, other)
			}
		}
		if len(together) > len(largest) {
			largest = together
		}
	}
	slices.SortFunc(largest, cmp.Compare[string])
	return largest
}

// reachable are the files that one leads to, over any number of others.
func reachable(uses map[string][]string, from string) map[string]bool {
	found := map[string]bool{}
	for todo := slices.Clone(uses[from]); len(todo) > 0; {
		next := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !found[next] {
			found[next] = true
			todo = append(todo, uses[next]...)
		}
	}
	return found
}

func TestLargestCycle(t *testing.T) {
	for want, uses := range map[string]map[string][]string{
		"":      {"a": {"b"}, "b": {"c"}, "c": nil},
		"a b":   {"a": {"b"}, "b": {"a", "c"}, "c": nil},
		"b c d": {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"b"}, "e": {"f"}, "f": {"e"}},
	} {
		if got := strings.Join(largestCycle(uses), " "); got != want {
			t.Errorf("%v: %q, want %q", uses, got, want)
		}
	}
}
