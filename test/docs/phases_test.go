package docs

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ends are the methods of a run that finish calls and that are no phase: they give its result.
var ends = []string{"keep", "unexported", "result"}

// TestPhases compares the table of "One run" in docs/ARCHITECTURE.md, from prepare on, with the methods of a run that finish calls, in
// their order; what it names in its second column is there.
func TestPhases(t *testing.T) {
	var documented []string
	packages := regexp.MustCompile("`([^`]+)`")
	for _, row := range phaseRows(t) {
		cells := strings.Split(row, "|")
		name, _, _ := strings.Cut(strings.TrimSpace(cells[1]), ":")
		name, _, _ = strings.Cut(name, ",")
		documented = append(documented, name)
		for _, named := range packages.FindAllStringSubmatch(cells[2], -1) {
			if _, err := os.Stat("../../runner/" + named[1]); err != nil && !strings.HasSuffix(named[1], ".go") {
				t.Errorf("%s: there is no package %q", name, named[1])
			}
		}
	}
	from := slices.Index(documented, "prepare")
	if from < 0 {
		t.Fatalf("the table has no prepare: %q", documented)
	}
	if called := calledByFinish(t); !slices.Equal(documented[from:], called) {
		t.Errorf("the table has %q, finish calls %q", documented[from:], called)
	}
}

// phaseRows are the rows of the table.
func phaseRows(t *testing.T) (rows []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(page), "| phase | package | the package returns |\n|---|---|---|\n")
	if !found {
		t.Fatal("docs/ARCHITECTURE.md has no table of phases")
	}
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		rows = append(rows, line)
	}
	return rows
}

// calledByFinish are the phases in runner/run.go.
func calledByFinish(t *testing.T) (called []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../runner/run.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range file.Decls {
		finish, isFunction := d.(*ast.FuncDecl)
		if !isFunction || finish.Name.Name != "finish" {
			continue
		}
		run := finish.Recv.List[0].Names[0].Name
		ast.Inspect(finish.Body, func(n ast.Node) bool {
			call, isCall := n.(*ast.CallExpr)
			if !isCall {
				return true
			}
			method, _ := call.Fun.(*ast.SelectorExpr)
			if method == nil {
				return true
			}
			if on, _ := method.X.(*ast.Ident); on != nil && on.Name == run && !slices.Contains(ends, method.Sel.Name) {
				called = append(called, method.Sel.Name)
			}
			return true
		})
	}
	return called
}
