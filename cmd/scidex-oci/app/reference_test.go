package app

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/spec"
)

var update = flag.Bool("update", false, "write docs/reference instead of comparing with it")

const (
	top       = "../../.."
	reference = top + "/docs/reference"
)

// TestReference: the pages in docs/reference say what the code says. They are made here, except python.md, which
// python/tests/reference.py makes, and nothing else is there.
func TestReference(t *testing.T) {
	pages := map[string]string{
		"commands.md": commandsPage(),
		"manifest.md": manifestPage(),
		"ends.md":     endsPage(t),
		"hints.md":    hintsPage(t),
		"result.md":   resultPage(t),
		"events.md":   eventsPage(t),
	}
	for name, text := range pages {
		file := filepath.Join(reference, name)
		if *update {
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if found, err := os.ReadFile(file); err != nil || string(found) != text {
			t.Errorf("docs/reference/%s is not what the code says (%v): go test ./cmd/scidex-oci/app -run TestReference -update", name, err)
		}
	}
	found, err := filepath.Glob(reference + "/*")
	if err != nil || len(found) != len(pages)+1 || !slices.Contains(found, filepath.Join(reference, "python.md")) {
		t.Errorf("docs/reference has %q (%v)", found, err)
	}
}

// commandsPage is the help of all commands. What a command shares with run is only with run.
func commandsPage() string {
	const width = 110
	all := pages()
	run := all[slices.IndexFunc(all, func(p manual.Page) bool { return p.Name == "scidex-oci run" })]
	text := page("Commands and flags", "What `scidex-oci COMMAND --help` prints. Flags that a command has in common with [run](#scidex-oci-run) are described there.")
	for _, p := range all {
		text += "- [" + p.Name + "](#" + strings.ReplaceAll(p.Name, " ", "-") + "): " + p.Usage + "\n"
	}
	text += "\n"
	for _, p := range all {
		var shared []string
		if p.Name != run.Name {
			p.Flags, shared = split(p.Flags, run.Flags)
		}
		text += "## " + p.Name + "\n\n```text\n" + p.Help(width) + "```\n\n"
		if len(shared) > 0 {
			text += "Also the flags of [run](#scidex-oci-run) " + strings.Join(shared, ", ") + ".\n\n"
		}
	}
	return strings.TrimSuffix(text, "\n")
}

// split takes from groups the flags that others have in the same words, and returns what is left, and what it took.
func split(groups, others []manual.Group) (own []manual.Group, shared []string) {
	var known []manual.Flag
	for _, g := range others {
		known = append(known, g.Flags...)
	}
	for _, g := range groups {
		left := manual.Group{Name: g.Name}
		for _, f := range g.Flags {
			if f.Names[0] != "help" && slices.ContainsFunc(known, func(k manual.Flag) bool { return reflect.DeepEqual(f, k) }) {
				shared = append(shared, "`"+manual.Dashed(f.Names[0])+"`")
			} else {
				left.Flags = append(left.Flags, f)
			}
		}
		if len(left.Flags) > 0 {
			own = append(own, left)
		}
	}
	return own, shared
}

func manifestPage() string {
	text := page("Fields of a manifest", `A manifest is a file in YAML or JSON for `+"`run -f FILE`"+`, and one object a line for `+"`batch`"+
		`. It is flat, and a field that is not listed here is refused. Relative paths are relative to the file. A flag of `+"`run`"+` overrides its field; in a batch a field of a line overrides the flag.
[manifest.json](../schema/manifest.json) has the types and bounds.`)
	for _, group := range spec.Groups() {
		text += "## " + group + "\n\n| field | flag | what | example |\n|---|---|---|---|\n"
		for _, f := range spec.Fields() {
			if f.Group != group {
				continue
			}
			dashed := ""
			if f.Flag != "" {
				dashed = "`" + manual.Dashed(f.Flag) + "`"
			}
			what := f.About
			if f.Usage() != f.Help {
				what += strings.TrimPrefix(f.Usage(), f.Help)
			}
			sample := f.Sample()
			if f.Name == "script" {
				sample = "fit.py" // of new, which is given the script
			}
			text += row("`"+f.Name+"`", dashed, what, "`"+sample+"`")
		}
		text += "\n"
	}
	return strings.TrimSuffix(text, "\n")
}

func endsPage(t *testing.T) string {
	dir := top + "/outputs/outcome/"
	states, reasons := constants(t, dir+"outcome.go", "State"), constants(t, dir+"reason.go", "Reason")
	text := page("States, reasons and exit codes", `The result of a run has a `+"`state` and a `reason`"+`: rely on these, since an analysis can exit with any
code itself. [It failed: what now](../failed.md) says what to do.`)
	text += "| state | meaning | reasons |\n|---|---|---|\n"
	for _, s := range states {
		var list []string
		for _, r := range outcome.ReasonsOf(outcome.State(s.value)) {
			list = append(list, "`"+string(r)+"`")
		}
		text += row("`"+s.value+"`", s.comment, strings.Join(list, ", "))
	}
	text += "\n## Reasons\n\nIf several fit, the first of these is given: `stopped`, `timeout`, `host_full`, `work_full`, `out_of_memory`, `signal`, `pids_limit`," +
		" `exit`, `output_missing`.\n\n| reason | meaning | exit code of `run` |\n|---|---|---|\n"
	for _, r := range reasons {
		meaning, code, _ := strings.Cut(strings.TrimSuffix(r.comment, "]"), " [")
		text += row("`"+r.value+"`", meaning, code)
	}
	return text + "\nResults of older versions of scidex-oci may have the reason `memory_limit`: the analysis got no more memory and exited by itself.\n\n" +
		"## Exit codes\n\n```text\n" + exitCodes + "\n```\n"
}

func hintsPage(t *testing.T) string {
	text := page("Hints", `The result of a run has a list `+"`hints`"+`: what to do about its end, each with a code and a sentence.

`+"```json"+`
"hints": [{"code": "no_network", "message": "runs have no network: download first, then pass the files with --data DIR or --input FILE"}]
`+"```"+`

Hints are in the JSON of `+"`run` and `show`"+`, in the table at the end of a run, in the lines of a batch, in JUnit files and GitHub annotations, on the page of
a report, and in the exception of the Python client. Python's hints name keywords instead of flags, and those of `+"`mcp`"+` say what a model can do.

A hint comes from the end of standard error, from what was passed to the run, and from what it left; the text of a script is not read for it. It never changes the
state of a run. More codes may come: readers ignore those that they do not know.`)
	text += "| code | when | what the sentence names |\n|---|---|---|\n"
	for _, c := range constants(t, top+"/runner/hints/codes.go", "") {
		when, names, _ := strings.Cut(c.comment, ". Names: ")
		text += row("`"+c.value+"`", when, strings.TrimSuffix(names, "."))
	}
	return text
}

// constant is one of a Go file, with its comment on one line.
type constant struct{ value, comment string }

// constants are those of a type; of none if it is "". Each must have a comment.
func constants(t *testing.T, path, kind string) (all []constant) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		value, ok := n.(*ast.ValueSpec)
		if !ok || len(value.Values) != 1 {
			return true
		}
		name := ""
		if of, ok := value.Type.(*ast.Ident); ok {
			name = of.Name
		}
		literal, ok := value.Values[0].(*ast.BasicLit)
		if name != kind || !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		comment := strings.Join(strings.Fields(value.Doc.Text()), " ")
		if err != nil || comment == "" {
			t.Errorf("%s: %s has no comment", path, value.Names[0].Name)
		}
		all = append(all, constant{text, comment})
		return true
	})
	return all
}

func resultPage(t *testing.T) string {
	s := readSchema(t, "result.json")
	return page("Fields of a result", s.text("description")+`

A dot leads into an object, and `+"`[]`"+` to each element of a list. [result.json](../schema/result.json) is the schema.`) + s.table(s.root)
}

func eventsPage(t *testing.T) string {
	s := readSchema(t, "events.json")
	text := page("Events", s.text("description")+`

[events.json](../schema/events.json) is the schema.`) + s.table(s.root)
	kinds, _ := s.root["allOf"].([]any)
	for _, kind := range kinds {
		var rule struct {
			If struct {
				Properties struct{ Type struct{ Const string } }
			}
			Then struct{ Properties struct{ Data map[string]any } }
		}
		raw, err := json.Marshal(kind)
		if err == nil {
			err = json.Unmarshal(raw, &rule)
		}
		if err != nil || rule.If.Properties.Type.Const == "" {
			t.Fatalf("%s: %v", raw, err)
		}
		data := s.resolve(rule.Then.Properties.Data)
		text += "\n## " + rule.If.Properties.Type.Const + "\n\n" + fmt.Sprint(data["description"]) + "\n\n" + s.table(data)
		if ref, ok := data["$ref"].(string); ok {
			of := map[string]string{"result.json": "", "result.json#/$defs/request": "`requests.list[]` of "}
			which, known := of[ref]
			if !known {
				t.Errorf("%s is an object of another schema: %s", rule.If.Properties.Type.Const, ref)
			}
			text += "\nIt also has the fields of " + which + "[a result](result.md).\n"
		}
	}
	return text
}

// schema is one of docs/schema.
type schema struct{ root map[string]any }

func readSchema(t *testing.T, name string) (s schema) {
	t.Helper()
	raw, err := os.ReadFile(top + "/docs/schema/" + name)
	if err == nil {
		err = json.Unmarshal(raw, &s.root)
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s schema) text(key string) string { return fmt.Sprint(s.root[key]) }

// resolve follows a reference within the schema; what stands next to it counts first.
func (s schema) resolve(node map[string]any) map[string]any {
	name, ok := node["$ref"].(string)
	if !ok || !strings.HasPrefix(name, "#/$defs/") {
		return node
	}
	defs, _ := s.root["$defs"].(map[string]any)
	target, _ := defs[strings.TrimPrefix(name, "#/$defs/")].(map[string]any)
	whole := maps.Clone(s.resolve(target))
	for key, value := range node {
		if key != "$ref" {
			whole[key] = value
		}
	}
	return whole
}

func (s schema) table(node map[string]any) string {
	return "| field | type | what |\n|---|---|---|\n" + s.rows("", node)
}

// rows are the fields of an object, each followed by those below it; required ones come first, in the schema's order.
func (s schema) rows(prefix string, node map[string]any) (text string) {
	fields, _ := node["properties"].(map[string]any)
	required, _ := node["required"].([]any)
	order := map[string]int{}
	for i, name := range required {
		order[fmt.Sprint(name)] = i + 1
	}
	names := slices.SortedFunc(maps.Keys(fields), func(a, b string) int {
		return cmp.Or(cmp.Compare(cmp.Or(order[a], len(required)+1), cmp.Or(order[b], len(required)+1)), cmp.Compare(a, b))
	})
	for _, name := range names {
		field, _ := fields[name].(map[string]any)
		field = s.resolve(field)
		what, _ := field["description"].(string)
		text += row("`"+prefix+name+"`", s.kind(field), what)
		text += s.rows(prefix+name+".", s.below(field))
		if items, ok := field["items"].(map[string]any); ok {
			text += s.rows(prefix+name+"[].", s.below(s.resolve(items)))
		}
	}
	return text
}

// below is the object that a field has, also if it may be null.
func (s schema) below(field map[string]any) map[string]any {
	choices, _ := field["anyOf"].([]any)
	for _, choice := range choices {
		if c, ok := choice.(map[string]any); ok && s.resolve(c)["properties"] != nil {
			return s.resolve(c)
		}
	}
	return field
}

// kind is the type of a field, or its values.
func (s schema) kind(field map[string]any) string {
	if _, ok := field["$ref"]; ok {
		return "as in [a result](result.md)"
	}
	if values, ok := field["enum"].([]any); ok {
		var all []string
		for _, v := range values {
			if v != "" {
				all = append(all, fmt.Sprintf("`%v`", v))
			}
		}
		return strings.Join(all, ", ")
	}
	if value, ok := field["const"]; ok {
		return fmt.Sprintf("`%v`", value)
	}
	var kinds []string
	switch of := field["type"].(type) {
	case string:
		kinds = append(kinds, of)
	case []any:
		for _, k := range of {
			kinds = append(kinds, fmt.Sprint(k))
		}
	}
	choices, _ := field["anyOf"].([]any)
	for _, choice := range choices {
		if c, ok := choice.(map[string]any); ok {
			kinds = append(kinds, s.kind(s.resolve(c)))
		}
	}
	return strings.Join(slices.DeleteFunc(kinds, func(k string) bool { return k == "``" }), " or ")
}

// page is the head of a page.
func page(title, about string) string {
	return "# " + title + "\n\n<!-- Made from the code: go test ./cmd/scidex-oci/app -run TestReference -update -->\n\n" + about + "\n\n"
}

// row is one of a table.
func row(cells ...string) string {
	var text strings.Builder
	for _, c := range cells {
		text.WriteString("| " + strings.ReplaceAll(c, "|", `\|`) + " ")
	}
	return text.String() + "|\n"
}
