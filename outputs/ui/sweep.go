package ui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// Bounds of a page of runs with one label.
const (
	sweepRuns       = 500
	sweepParameters = 8
	sweepEntries    = 1000 // outputs of a run that are looked at for tables and figures
	sweepChoices    = 50   // of tables, figures or metrics
	sweepFigures    = 48
)

// sweepPage is a page of runs that share a label: their parameters against a metric, and one figure of each.
type sweepPage struct {
	Title, Label, List string
	Chosen             sweepChoice
	Parameters         []string
	Tables, Images     []string // paths of the outputs of one of the runs
	Metrics            []string
	Plot               *report.Scatter
	Rows               []sweepRow
	Multiples          []multiple
	Notes              []string
	Counts, Figure     string
}

// sweepChoice is what a visitor chose, or else the first of each.
type sweepChoice struct{ Table, X, Y, By, Image string }

// sweepRow is a run. Values are those of the parameters.
type sweepRow struct {
	Name, Link, State, Class string
	Metric, Whole            string // as shown, and with all of its digits if it has more
	Short                    bool
	Values                   []string
	run                      catalog.Run
}

// choice is a field of the form.
type choice struct {
	Name, Label, None, Chosen string
	All                       []string
}

// Choices are the fields of the form that have something to choose.
func (p sweepPage) Choices() []choice {
	all := []choice{
		{"table", "Table", "", p.Chosen.Table, p.Tables},
		{"y", "Metric", "", p.Chosen.Y, p.Metrics},
		{"x", "Against", "", p.Chosen.X, p.Parameters},
		{"by", "Marked by", "nothing", p.Chosen.By, p.Parameters},
		{"image", "Figure", "", p.Chosen.Image, p.Images},
	}
	return slices.DeleteFunc(all, func(c choice) bool { return len(c.All) == 0 })
}

// multiple is a figure of a run.
type multiple struct {
	Row    sweepRow
	Labels string
	Figure report.Figure
}

// sweep is the page of a label.
func (s *Server) sweep(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	values, err := query(r, "label", "table", "x", "y", "by", "image")
	if err != nil {
		return m, err
	}
	filter, err := filterOf(url.Values{"label": {values.Get("label")}})
	if err != nil {
		return m, err
	}
	if filter.Labels == nil {
		return m, refuse(http.StatusBadRequest, "Give a label, as NAME=VALUE.")
	}
	filter.Limit = sweepRuns + 1
	runs, err := s.stores.Runs.List(ctx, filter)
	if err != nil {
		return m, err
	}
	page, err := s.sweepOf(ctx, values, runs)
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Page(to, "sweep.html", page) }
	return m, err
}

func (s *Server) sweepOf(ctx context.Context, values url.Values, runs []catalog.Run) (*sweepPage, error) {
	label := strings.TrimSpace(values.Get("label"))
	p := &sweepPage{Title: label, Label: label, List: address(url.Values{"label": {label}}, "")}
	p.Chosen = sweepChoice{values.Get("table"), values.Get("x"), values.Get("y"), values.Get("by"), values.Get("image")}
	if len(runs) > sweepRuns {
		runs = runs[:sweepRuns]
		p.Notes = append(p.Notes, fmt.Sprintf("The newest %d runs of it are shown; scidex-oci table has all of them.", sweepRuns))
	}
	runs = lastAttempts(runs)
	p.parameters(runs)
	p.rows(runs)
	if err := s.candidates(ctx, p); err != nil {
		return nil, err
	}
	p.choose()
	if err := s.metrics(ctx, p); err != nil {
		return nil, err
	}
	return p, s.multiples(ctx, p)
}

// lastAttempts are the last attempts of each id, the oldest first.
func lastAttempts(runs []catalog.Run) []catalog.Run {
	last := map[string]int{}
	for _, run := range runs {
		last[run.ID] = max(last[run.ID], run.Attempt)
	}
	runs = slices.DeleteFunc(slices.Clone(runs), func(run catalog.Run) bool { return run.Attempt < last[run.ID] })
	slices.Reverse(runs)
	return runs
}

// parameters are the labels that differ between the runs.
func (p *sweepPage) parameters(runs []catalog.Run) {
	seen := map[string]map[string]bool{}
	for _, run := range runs {
		for name, value := range run.Labels {
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][value] = true
		}
	}
	for name, values := range seen {
		everywhere := !slices.ContainsFunc(runs, func(run catalog.Run) bool { _, has := run.Labels[name]; return !has })
		if len(values) > 1 || !everywhere {
			p.Parameters = append(p.Parameters, name)
		}
	}
	slices.Sort(p.Parameters)
	if more := len(p.Parameters) - sweepParameters; more > 0 {
		p.Parameters = p.Parameters[:sweepParameters]
		p.Notes = append(p.Notes, fmt.Sprintf("The first %d labels that differ are shown; there are %d more.", sweepParameters, more))
	}
}

// rows are the runs, ordered by their parameters.
func (p *sweepPage) rows(runs []catalog.Run) {
	count := map[outcome.State]int{}
	for _, run := range runs {
		count[run.State]++
		row := sweepRow{Name: run.String(), Link: linkTo(run.Key), State: string(run.State), Class: string(run.State), Short: len(run.ID) <= shortID, run: run}
		for _, name := range p.Parameters {
			row.Values = append(row.Values, run.Labels[name])
		}
		p.Rows = append(p.Rows, row)
	}
	slices.SortStableFunc(p.Rows, func(a, b sweepRow) int { return slices.CompareFunc(a.Values, b.Values, report.ByValue) })
	var counts []string
	for _, state := range states {
		if count[state] > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", count[state], state))
		}
	}
	p.Counts = strings.Join(counts, ", ")
}

// candidates are the tables and figures of the first run that is complete.
func (s *Server) candidates(ctx context.Context, p *sweepPage) error {
	i := slices.IndexFunc(p.Rows, func(row sweepRow) bool { return row.run.State == outcome.Complete && row.run.OutputsRemovedAt.IsZero() })
	if i < 0 {
		p.Notes = append(p.Notes, "None of these runs is complete and has its outputs.")
		return nil
	}
	seen := 0
	return s.stores.Files.Outputs(ctx, p.Rows[i].run.Key, func(e outputs.Entry) bool {
		o := outputOf(e)
		switch {
		case e.Rejected != "":
		case report.HasRows(o) && len(p.Tables) < sweepChoices:
			p.Tables = append(p.Tables, o.Path)
		case report.IsImage(o) && len(p.Images) < sweepChoices:
			p.Images = append(p.Images, o.Path)
		}
		seen++
		return seen < sweepEntries
	})
}

// outputOf is an entry as an output of a result. Its path is exact.
func outputOf(e outputs.Entry) result.Output {
	return result.Output{Path: string(e.Path), Size: e.Size, SHA256: e.SHA256, MediaType: e.MediaType}
}

// choose takes the first of what was not chosen.
func (p *sweepPage) choose() {
	p.Chosen.Table = known(p.Chosen.Table, p.Tables)
	p.Chosen.Image = known(p.Chosen.Image, p.Images)
	if !slices.Contains(p.Parameters, p.Chosen.X) {
		p.Chosen.X = p.widest()
	}
	if !slices.Contains(p.Parameters, p.Chosen.By) || p.Chosen.By == p.Chosen.X {
		p.Chosen.By = ""
	}
}

// widest is the parameter with the most values that are numbers; without numbers, that with the most values. A seed
// only repeats a run, and comes last. It is "" without parameters.
func (p *sweepPage) widest() (name string) {
	most := -1
	for i, parameter := range p.Parameters {
		values, numbers := map[string]bool{}, true
		for _, row := range p.Rows {
			values[row.Values[i]] = true
			numbers = numbers && (row.Values[i] == "" || report.Finite(row.Values[i]))
		}
		n := len(values)
		switch {
		case parameter == "seed":
			n = 0
		case numbers:
			n += sweepRuns // before all others
		}
		if n > most {
			name, most = parameter, n
		}
	}
	return name
}

func known(chosen string, all []string) string {
	if slices.Contains(all, chosen) || len(all) == 0 {
		return chosen
	}
	return all[0]
}

// metrics reads the last row of the table of each run.
func (s *Server) metrics(ctx context.Context, p *sweepPage) error {
	if p.Chosen.Table == "" {
		return nil
	}
	rows := make([]report.Row, len(p.Rows))
	unread := 0
	for i, row := range p.Rows {
		if row.run.State != outcome.Complete {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := s.stores.Files.Output(ctx, row.run.Key, []byte(p.Chosen.Table))
		if err == nil {
			rows[i], err = report.LastRow(outputOf(e), s.reading(ctx))
		}
		if err != nil {
			if unread++; unread == 1 {
				p.Notes = append(p.Notes, fmt.Sprintf("%s: %s cannot be read: %s.", row.Name, p.Chosen.Table, unreadable(err)))
			}
			rows[i] = report.Row{}
			continue
		}
		p.addMetrics(rows[i])
	}
	if unread > 1 {
		p.Notes = append(p.Notes, fmt.Sprintf("So it is for %d more.", unread-1))
	}
	p.Chosen.Y = known(p.Chosen.Y, p.Metrics)
	p.plot(rows)
	return nil
}

// unreadable is why a table has no row, for a sentence.
func unreadable(err error) string {
	switch {
	case errors.Is(err, catalog.ErrNotFound):
		return "the run has no such output"
	case errors.Is(err, fs.ErrNotExist):
		return "its contents are not in the blob store"
	}
	return err.Error()
}

func (p *sweepPage) addMetrics(row report.Row) {
	for i, name := range row.Names {
		if len(p.Metrics) < sweepChoices && report.Finite(row.Values[i]) && !slices.Contains(p.Metrics, name) {
			p.Metrics = append(p.Metrics, name)
		}
	}
}

// plot takes the chosen column of each row. Without a parameter runs are by their names.
func (p *sweepPage) plot(rows []report.Row) {
	var points []report.Point
	x, by := slices.Index(p.Parameters, p.Chosen.X), slices.Index(p.Parameters, p.Chosen.By)
	for i := range p.Rows {
		at := slices.Index(rows[i].Names, p.Chosen.Y)
		if at < 0 {
			continue
		}
		row := &p.Rows[i]
		value := rows[i].Values[at]
		if row.Metric = report.Rounded(value); row.Metric != value {
			row.Whole = value
		}
		if !report.Finite(value) {
			continue
		}
		point := report.Point{X: row.run.ID, Y: report.Value(value), Run: row.Name}
		if x >= 0 {
			point.X = row.Values[x]
		}
		if by >= 0 {
			point.By = row.Values[by]
		}
		points = append(points, point)
	}
	if len(p.Metrics) > 0 {
		name := p.Chosen.X
		if name == "" {
			name = "run"
		}
		plot := report.NewScatter(points, name, p.Chosen.Y, p.Chosen.By)
		p.Plot = &plot
	}
}

// multiples are the chosen figure of each run.
func (s *Server) multiples(ctx context.Context, p *sweepPage) error {
	if p.Chosen.Image == "" {
		return nil
	}
	gallery, left := report.NewGallery(s.reading(ctx)), 0
	for _, row := range p.Rows {
		if row.run.State != outcome.Complete {
			continue
		}
		if len(p.Multiples) == sweepFigures {
			left++
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		e, err := s.stores.Files.Output(ctx, row.run.Key, []byte(p.Chosen.Image))
		f := report.Figure{Path: p.Chosen.Image, Why: "Not shown: this run has none."}
		if err == nil {
			f = gallery.Figure(outputOf(e))
		}
		p.Multiples = append(p.Multiples, multiple{row, p.labels(row), f})
	}
	if left > 0 {
		p.Figure = fmt.Sprintf("The first %d are shown; there are %d more.", sweepFigures, left)
	}
	return nil
}

// labels names a run by its parameters.
func (p *sweepPage) labels(row sweepRow) string {
	var all []string
	for i, name := range p.Parameters {
		all = append(all, name+"="+row.Values[i])
	}
	return format.Cut(strings.Join(all, ", "), 80)
}

// linkToSweep is the URL of the page of a label, from any page.
func linkToSweep(label string) string {
	return sweepAddress + "?" + url.Values{"label": {label}}.Encode()
}
