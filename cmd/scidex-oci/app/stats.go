package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/stats"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
)

func newStatsCommand(p *command.Program) *cli.Command {
	o := &statsOptions{}
	return &cli.Command{
		Name:      "stats",
		Usage:     "show what runs used of what they asked for, and limits that would have been enough",
		UsageText: "scidex-oci stats [--by LABEL] [flags]",
		Description: `Of runs that started and have ended: memory at its peak, cores (CPU time by wall time) and wall time, by nearest rank: of
100 runs 99 used at most P99. ASKED is what 50 in 100 asked for at most, and the most. AT LIMIT counts runs that the limit has ended.

SUGGESTED is, for memory, P99 and a quarter, up to a multiple of 64MiB; for cpus, P99 and a quarter, up to a multiple of
0.25; for the time, twice P99, up to a minute. If the limit has ended more than one run in a hundred, there is none:
what they would have used is not known. No more memory and cpus are suggested than this host has. Cores are those of runs
of a second or more: what a shorter one used is mostly its start.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runStats(c.Context, p, st, *o) })
		},
	}
}

// statsOptions are the options of stats.
type statsOptions struct {
	by     string
	filter options.Filter
	json   bool
}

func (o *statsOptions) flags() []cli.Flag {
	by := options.Value(&o.by, "by", "group runs by the value of this `LABEL`", readLabel)
	filter := o.filter.Flags("at most `N` groups, those of the most runs, 0 for all (default: 50)", 50)
	return slices.Concat(options.List(by), options.List(filter...), options.List(
		options.Bool(&o.json, "json", "print one JSON object (docs/schema/stats.json)"),
	))
}

func readLabel(t options.Text) (string, error) {
	if t.Value == "" {
		return "", t.Refuse("give the name of a label")
	}
	return t.Value, nil
}

// statistics is the object of stats --json.
type statistics struct {
	V           int           `json:"v"`  // 1
	By          *string       `json:"by"` // the label, nil for none
	Runs        int           `json:"runs"`
	GroupsTotal int           `json:"groups_total"`
	Groups      []stats.Group `json:"groups"`
	Rules       stats.Rules   `json:"rules"`
}

func runStats(ctx context.Context, p *command.Program, st *stores.Stores, o statsOptions) error {
	s, err := gather(ctx, st.Catalog, o)
	if err != nil {
		return err
	}
	if o.json {
		return screen.WriteJSON(p.Stdout, s)
	}
	if err := s.table(p.Stdout); err != nil || !s.unlabelled() {
		return err
	}
	return tellLabels(ctx, p.Stderr, st.Catalog, o)
}

// unlabelled reports whether no run has the label that groups them.
func (s statistics) unlabelled() bool {
	return s.By != nil && !slices.ContainsFunc(s.Groups, func(g stats.Group) bool { return g.Label != nil })
}

// tellLabels names the labels that the runs have instead of the one that groups them.
func tellLabels(ctx context.Context, w io.Writer, cat catalog.Catalog, o statsOptions) error {
	filter, err := o.filter.At(time.Now())
	if err != nil {
		return err
	}
	filter.Limit = offered
	runs, err := cat.List(ctx, filter)
	if err != nil {
		return err
	}
	names := map[string]bool{}
	for _, run := range runs {
		for name := range run.Labels {
			names[name] = true
		}
	}
	there := "they have none; run --label K=V gives one"
	if len(names) > 0 {
		there = "there are " + strings.Join(slices.Sorted(maps.Keys(names)), ", ")
	}
	fmt.Fprintf(w, "scidex-oci: none of these runs has a label %q; %s\n", o.by, screen.Escape(there))
	return nil
}

// hostRules suggest no more than a host has.
func hostRules(has admission.Resources) stats.Rules {
	rules := stats.DefaultRules()
	rules.Memory.Most, rules.CPUs.Most = float64(has.Memory), has.CPUs
	return rules
}

// gather reads the catalog.
func gather(ctx context.Context, cat catalog.Catalog, o statsOptions) (statistics, error) {
	s := statistics{V: 1, Groups: []stats.Group{}, Rules: hostRules(admission.ReadTotal())}
	filter, err := o.filter.At(time.Now())
	if err != nil {
		return s, err
	}
	if o.by != "" {
		s.By = &o.by
	}
	var collector stats.Collector
	err = cat.Usage(ctx, filter, o.by, func(u catalog.Usage) bool {
		collector.Add(u)
		return ctx.Err() == nil
	})
	if err != nil {
		return s, err
	}
	if err := ctx.Err(); err != nil {
		return s, err
	}
	groups := collector.Groups(s.Rules)
	s.GroupsTotal = len(groups)
	for _, group := range groups {
		s.Runs += group.Runs
	}
	if filter.Limit > 0 {
		groups = groups[:min(len(groups), filter.Limit)]
	}
	s.Groups = append(s.Groups, groups...)
	return s, nil
}

func (s statistics) table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "GROUP\tRUNS\tFIGURE\tP50\tP90\tP99\tMAX\tASKED\tAT LIMIT\tSUGGESTED")
	for _, g := range s.Groups {
		name, runs := s.name(g), strconv.Itoa(g.Runs)
		for _, f := range []struct {
			word string
			of   stats.Figure
			show func(float64) string
		}{{"memory", g.Memory, showBytes}, {"cpus", g.CPUs, showCores}, {"time", g.Time, showTime}} {
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%d\t%s\n", name, runs, f.word, showQuantiles(f.of.Used, f.show), showAsked(f.of.Asked, f.show), f.of.AtLimit, showLimit(f.of, f.show))
			name, runs = "", ""
		}
		fmt.Fprintf(tw, "\t\tcpu time\t%s\t\t\t\n", showQuantiles(g.CPUTime, showTime))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	if left := s.GroupsTotal - len(s.Groups); left > 0 {
		_, err := fmt.Fprintf(w, "and %s with fewer runs; see --limit\n", format.Count(left, "more group", "more groups"))
		return err
	}
	return nil
}

// name is the name of a group.
func (s statistics) name(g stats.Group) string {
	switch {
	case s.By == nil:
		return "all"
	case g.Label == nil:
		return "(no " + screen.Escape(*s.By) + ")"
	}
	return screen.Escape(*s.By + "=" + *g.Label)
}

func showQuantiles(q stats.Quantiles, show func(float64) string) string {
	if q.Count == 0 {
		return "-\t-\t-\t-"
	}
	return show(q.P50) + "\t" + show(q.P90) + "\t" + show(q.P99) + "\t" + show(q.Max)
}

func showAsked(q stats.Quantiles, show func(float64) string) string {
	switch {
	case q.Count == 0:
		return "-"
	case q.P50 == q.Max:
		return show(q.Max)
	}
	return show(q.P50) + ", " + show(q.Max)
}

func showLimit(f stats.Figure, show func(float64) string) string {
	if f.Suggested == nil {
		return "-"
	}
	return show(*f.Suggested)
}

func showBytes(x float64) string { return format.Size(int64(x)) }
func showTime(ms float64) string { return format.Duration(int64(ms)) }

func showCores(x float64) string { return strconv.FormatFloat(math.Round(x*1000)/1000, 'g', -1, 64) }
