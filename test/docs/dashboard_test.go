package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

type dashboard struct {
	Title, UID    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type string }
	}
	Panels []panel
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               *struct{ Type, UID string }
	Targets                  []struct {
		Expr, LegendFormat, RefID string
		Datasource                struct{ Type, UID string }
	}
	FieldConfig struct{ Defaults struct{ Unit string } }
}

// TestDashboard: Grafana needs nothing but a data source for docs/prometheus/dashboard.json.
func TestDashboard(t *testing.T) {
	raw, err := os.ReadFile("../../docs/prometheus/dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" || d.SchemaVersion < 41 || strings.Contains(string(raw), "__inputs") {
		t.Errorf("title %q, uid %q, schema %d", d.Title, d.UID, d.SchemaVersion)
	}
	variables := map[string]bool{"__rate_interval": true}
	for _, v := range d.Templating.List {
		variables[v.Name] = true
	}
	used := regexp.MustCompile(`\$\{?(\w+)`)
	ids := map[int]bool{}
	for i, p := range d.Panels {
		if p.ID == 0 || ids[p.ID] {
			t.Errorf("the id %d of %q is not unique", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, q := range d.Panels[:i] {
			if p.Title == q.Title {
				t.Errorf("there are two panels %q", p.Title)
			}
		}
		for _, name := range used.FindAllStringSubmatch(p.text(), -1) {
			if !variables[name[1]] {
				t.Errorf("%q uses $%s, which is no variable", p.Title, name[1])
			}
		}
		p.complete(t)
	}
}

// text is the parts of a panel that may have variables.
func (p panel) text() (all string) {
	for _, target := range p.Targets {
		all += target.Expr + "\n" + target.Datasource.UID + "\n"
	}
	return all
}

// complete checks what a panel that is no row must have.
func (p panel) complete(t *testing.T) {
	t.Helper()
	if p.Type == "row" {
		return
	}
	if p.Type != "timeseries" && p.Type != "stat" {
		t.Errorf("%q is a %s", p.Title, p.Type)
	}
	if p.Title == "" || !strings.HasSuffix(p.Description, ".") && !strings.HasSuffix(p.Description, ".\"") || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
		t.Errorf("%q has the description %q, the unit %q and %d queries", p.Title, p.Description, p.FieldConfig.Defaults.Unit, len(p.Targets))
	}
	if p.Datasource == nil || p.Datasource.Type != "prometheus" || p.Datasource.UID != "${datasource}" {
		t.Errorf("%q has the data source %+v", p.Title, p.Datasource)
	}
	refs := map[string]bool{}
	for _, target := range p.Targets {
		if target.Expr == "" || target.LegendFormat == "" || refs[target.RefID] || target.Datasource != *p.Datasource {
			t.Errorf("%q has the query %+v", p.Title, target)
		}
		refs[target.RefID] = true
	}
}
