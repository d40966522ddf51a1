package outcome

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
)

// TestReasonsAreComplete: each constant is the reason of a state; filters, completion and metrics use this list.
func TestReasonsAreComplete(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	known := Reasons()
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Reason" {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if found++; err != nil || !slices.Contains(known, Reason(text)) {
				t.Errorf("%s is the reason of no state: add it to ReasonsOf", spec.Names[0].Name)
			}
		}
		return true
	})
	if found != len(known) {
		t.Errorf("%d constants, %d reasons", found, len(known))
	}
}
