package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/suggest"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/runner"
)

// filterOf reads the flags of ls.
func filterOf(from layers, now time.Time) (catalog.Filter, error) {
	f := catalog.Filter{Limit: 50}
	var err error
	if f.Since, err = timeOf(from, "since", now); err != nil {
		return f, err
	}
	if f.Until, err = timeOf(from, "until", now); err != nil {
		return f, err
	}
	if in, ok := from.given("limit"); ok {
		if f.Limit, err = strconv.Atoi(in.text("limit")); err != nil || f.Limit < 0 {
			return f, fmt.Errorf("%s %q: give a number of runs, 0 for all", in.label("limit"), in.text("limit"))
		}
	}
	states, err := oneOf(from, "state", allStates())
	if err != nil {
		return f, err
	}
	for _, state := range states {
		f.States = append(f.States, catalog.State(state))
	}
	if f.Reasons, err = oneOf(from, "reason", allReasons()); err != nil {
		return f, err
	}
	if in, ok := from.given("label"); ok {
		r := reader{layer: in}
		f.Labels = r.pairs("label", nil)
		err = r.err
	}
	return f, err
}

func allStates() []string {
	var all []string
	for _, state := range []catalog.State{
		catalog.Queued, catalog.Running, catalog.Complete, catalog.Failed, catalog.Canceled, catalog.Error, catalog.Lost,
	} {
		all = append(all, string(state))
	}
	return all
}

func allReasons() []string {
	var all []string
	for _, reason := range []runner.Reason{
		runner.ReasonExit, runner.ReasonSignal, runner.ReasonTimeout, runner.ReasonOutOfMemory, runner.ReasonPidsLimit,
		runner.ReasonWorkFull, runner.ReasonHostFull, runner.ReasonOutputMissing, runner.ReasonNotFound, runner.ReasonNotInvocable, runner.ReasonStopped,
		runner.ReasonSupervisorLost, runner.ReasonHarvest, runner.ReasonCommit, runner.ReasonExport, runner.ReasonPostProcess,
		runner.ReasonSandbox, runner.ReasonRequest,
	} {
		all = append(all, string(reason))
	}
	return all
}

// oneOf reads a repeatable flag whose values are words of a list.
func oneOf(from layers, name string, known []string) ([]string, error) {
	in, ok := from.given(name)
	if !ok {
		return nil, nil
	}
	for _, value := range in.values[name] {
		if !slices.Contains(known, value) {
			way := suggest.DidYouMean(value, known, "")
			if way == "" {
				way = "; there are " + strings.Join(known, ", ")
			}
			return nil, fmt.Errorf("%s %q: there is no such %s%s", in.label(name), value, name, way)
		}
	}
	return in.values[name], nil
}

func timeOf(from layers, name string, now time.Time) (time.Time, error) {
	in, ok := from.given(name)
	if !ok {
		return time.Time{}, nil
	}
	t, ok := parseTime(in.text(name), now)
	if !ok {
		return t, fmt.Errorf("%s %q: give a time as 2026-01-31T12:00:00Z, a date as 2026-01-31, or how long ago as 7d or 12h", in.label(name), in.text(name))
	}
	return t, nil
}

var days = pattern(`^([0-9]{1,5})([dw])$`)

// parseTime reads RFC 3339, a date of the zone that now is in, or a length of time before now.
func parseTime(text string, now time.Time) (time.Time, bool) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, true
	}
	if t, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		return t, true
	}
	if m := days().FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1]) // the expression admits digits only
		if m[2] == "w" {
			n *= 7
		}
		return now.AddDate(0, 0, -n), true
	}
	if d, err := time.ParseDuration(text); err == nil && d >= 0 {
		return now.Add(-d), true
	}
	return time.Time{}, false
}
