package crate

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
)

// mostProblems bounds those of CompareRun.
const mostProblems = 100

// CompareRun returns how the metadata differ from those that Describe makes of a run. It does not compare files, nor
// what the maker of a crate may add: descriptions, license, agent, other entities. Everything about the run must have
// the IDs, properties and references that Describe writes, so that no reader understands something else. Of the script
// it uses only path and digest.
func (c *Contents) CompareRun(run Run) ([]Problem, error) {
	want := expectedOf(run)
	g := comparison{want: want, ids: map[string]string{}, seen: map[string]bool{}}
	for id := range want {
		g.ids[resolved(id)] = id
	}
	other, err := c.entities(g.add)
	if err != nil {
		return nil, err
	}
	if !same(other.context, fieldsOf(document{Context: contexts})["@context"]) {
		g.problem("@context", "it gives names another meaning")
	}
	for _, name := range other.names {
		g.problem(name, "it does not belong there")
	}
	for _, id := range slices.Sorted(maps.Keys(want)) {
		if !g.seen[id] {
			g.problem(id, "missing")
		}
	}
	return g.problems, nil
}

// expectedOf are the entities about a run, by their IDs. The root has only what it says about the run.
func expectedOf(run Run) map[string]described {
	run.Outputs, run.Logs, run.Result, run.Statement, run.Agent = nil, nil, nil, nil, nil
	d := &description{run: run}
	action := d.action()
	all := append([]any{
		action, d.engine(action),
		entity{ID: "./", Type: "Dataset", DatePublished: moment(run.FinishedAt), Mentions: []ref{{action.ID}, {action.ID + "-engine"}}},
	}, d.others...)
	want := map[string]described{}
	for _, e := range all {
		fields := fieldsOf(e)
		want[fields.id()] = fields
	}
	return want
}

// fieldsOf are the properties of an entity as they are written.
func fieldsOf(e any) described {
	var fields described
	raw, err := json.Marshal(e)
	if err == nil {
		err = json.Unmarshal(raw, &fields)
	}
	if err != nil {
		panic(err) // an entity consists of texts
	}
	return fields
}

// comparison is that of one graph.
type comparison struct {
	want     map[string]described
	ids      map[string]string // by what they resolve to
	seen     map[string]bool
	problems []Problem
}

func (g *comparison) problem(id, what string) {
	if len(g.problems) < mostProblems {
		g.problems = append(g.problems, Problem{id, what})
	}
}

// add compares an entity.
func (g *comparison) add(e described) error {
	id := e.id()
	for _, name := range slices.Sorted(maps.Keys(e)) {
		if strings.HasPrefix(name, "@") && name != "@id" && name != "@type" || !isFlat(e[name]) {
			g.problem(id, fmt.Sprintf("%s can say something about another entity", name))
		}
	}
	known, about := g.ids[resolved(id)]
	switch {
	case !about || e["@id"] == nil: // without an ID it is no entity that others can mean
		if slices.ContainsFunc(e.types(), func(kind string) bool { return strings.HasSuffix(kind, "Action") }) {
			g.problem(id, "an action that is not of the run")
		}
		return nil
	case known != id || g.seen[id]:
		g.problem(id, "there twice")
		return nil
	}
	g.seen[id] = true
	g.compare(id, e, g.want[id])
	return nil
}

// compare compares the properties.
func (g *comparison) compare(id string, got, want described) {
	names := slices.Collect(maps.Keys(want))
	if id != "./" { // which has properties of all kinds
		names = slices.AppendSeq(names, maps.Keys(got))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		switch {
		case name == "description", same(got[name], want[name]):
		case slices.Contains(want.types(), "CreateAction") && (name == "agent" || name == "result"):
		case want.isFile() && (name == "contentSize" || name == "encodingFormat"):
		default:
			g.problem(id, name+" is not what the result says")
		}
	}
}

// same reports whether two values are equal, or both are missing.
func same(a, b json.RawMessage) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// isFlat reports whether a value refers to other entities only by their IDs, as RO-Crate requires.
func isFlat(value json.RawMessage) bool {
	var v any
	if json.Unmarshal(value, &v) != nil {
		return false
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	return !slices.ContainsFunc(list, func(one any) bool {
		switch one := one.(type) {
		case []any:
			return true
		case map[string]any:
			_, isRef := one["@id"]
			return len(one) != 1 || !isRef
		}
		return false
	})
}

// resolved is what an ID means in a crate, with its escapes resolved.
func resolved(id string) string {
	base := url.URL{Scheme: "arcp", Host: "crate", Path: "/"}
	u, err := base.Parse(id)
	if err != nil {
		return id
	}
	return u.Scheme + "://" + u.Host + u.Path + "?" + u.RawQuery + "#" + u.Fragment
}
