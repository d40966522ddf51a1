package ui

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

// listed is the runs on a page.
const listed = 50

// states are the states to filter by.
var states = []outcome.State{
	outcome.Queued, outcome.Running, outcome.Complete, outcome.Failed, outcome.Canceled, outcome.Error, outcome.Lost,
}

// listing is the page of runs.
type listing struct {
	Text, State, Label string
	States             []outcome.State
	Rows               []listRow
	Later              bool   // it does not start with the newest
	Newest, Older      string // addresses
	Sweep              string // address of the page of the label, if one is given
}

type listRow struct {
	Name, Link, Ran, State, Class, Reason, Took, Labels string

	CreatedAt time.Time
	Outputs   int64
	Short     bool // its id needs no second line
}

// shortID is the length of an id that is not broken, in bytes.
const shortID = 40

// list is a page of runs, newest first. The next page starts after the last of them, wherever that is by then: no run is
// counted or skipped.
func (s *Server) list(ctx context.Context, r *http.Request) (m finishedPage, err error) {
	values, err := query(r, "text", "state", "label", "after")
	if err != nil {
		return m, err
	}
	filter, err := filterOf(values)
	if err != nil {
		return m, err
	}
	filter.Limit = listed + 1
	runs, err := s.stores.Runs.List(ctx, filter)
	if err != nil {
		return m, err
	}
	page := listing{
		Text: filter.Text, State: values.Get("state"), Label: values.Get("label"), States: states, Later: values.Get("after") != "",
		Newest: address(values, ""),
	}
	if len(runs) > listed {
		runs = runs[:listed]
		page.Older = address(values, encodeMark(runs[listed-1]))
	}
	if filter.Labels != nil {
		page.Sweep = linkToSweep(strings.TrimSpace(values.Get("label")))
	}
	for _, run := range runs {
		page.Rows = append(page.Rows, s.row(ctx, run))
	}
	m.name = "Runs"
	m.write = func(site report.Site, to *bytes.Buffer) error { return site.Page(to, "list.html", page) }
	return m, nil
}

func (s *Server) row(ctx context.Context, run catalog.Run) listRow {
	row := listRow{
		Name: run.String(), Link: linkTo(run.Key), Ran: ranOf(run), State: string(run.State), Class: string(run.State), Reason: string(run.Reason),
		CreatedAt: run.CreatedAt, Outputs: run.OutputsTotal, Short: len(run.ID) <= shortID, Labels: labelsOf(run),
	}
	if !run.State.Final() {
		going := s.stores.Life.Look(ctx, run)
		row.State, row.Took = going.State, format.Duration(going.ElapsedMS)
		return row
	}
	kept, _ := result.ReportOf(run) // without figures if another version wrote it
	row.Took = format.Duration(kept.Usage.WallMS)
	return row
}

// filterOf parses a filter.
func filterOf(values url.Values) (f catalog.Filter, err error) {
	f.Text = strings.TrimSpace(values.Get("text"))
	if state := outcome.State(values.Get("state")); state != "" {
		if !slices.Contains(states, state) {
			return f, refuse(http.StatusBadRequest, fmt.Sprintf("There is no state %q.", string(state)))
		}
		f.States = []outcome.State{state}
	}
	if label := strings.TrimSpace(values.Get("label")); label != "" {
		name, value, ok := strings.Cut(label, "=")
		if !ok || name == "" {
			return f, refuse(http.StatusBadRequest, fmt.Sprintf("The label %q is no NAME=VALUE.", label))
		}
		f.Labels = map[string]string{name: value}
	}
	f.After, err = decodeMark(values.Get("after"))
	return f, err
}

// address is the URL of the list with a filter, after a mark.
func address(values url.Values, after string) string {
	next := url.Values{}
	for name, given := range values {
		if name != "after" && given[0] != "" {
			next[name] = given
		}
	}
	if after != "" {
		next.Set("after", after)
	}
	return "./?" + next.Encode()
}

// encodeMark is a list position: TIME,ATTEMPT,ID.
func encodeMark(run catalog.Run) string {
	return run.CreatedAt.UTC().Format(time.RFC3339Nano) + "," + strconv.Itoa(run.Attempt) + "," + run.ID
}

func decodeMark(text string) (mark catalog.Mark, err error) {
	if text == "" {
		return mark, nil
	}
	parts := strings.SplitN(text, ",", 3)
	if len(parts) == 3 {
		mark.ID = parts[2]
		var errs [2]error
		mark.CreatedAt, errs[0] = time.Parse(time.RFC3339Nano, parts[0])
		mark.Attempt, errs[1] = strconv.Atoi(parts[1])
		if errs[0] == nil && errs[1] == nil && mark.Attempt > 0 && !mark.CreatedAt.IsZero() {
			return mark, nil
		}
	}
	return mark, refuse(http.StatusBadRequest, fmt.Sprintf("%q is no place in the list; begin with the newest.", text))
}

// ranShown bounds what ran in a table, in characters.
const ranShown = 60

func ranOf(run catalog.Run) string { return format.Cut(result.Ran(run.Request), ranShown) }

// linkTo is the URL of a run's page, from any page.
func linkTo(key catalog.Key) string { return runPage + "?id=" + url.QueryEscape(key.String()) }

func labelsOf(run catalog.Run) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(run.Labels)) {
		all = append(all, name+"="+run.Labels[name])
	}
	return strings.Join(all, ", ")
}
