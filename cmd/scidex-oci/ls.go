package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
)

func newListCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "ls",
		Usage:     "list runs, the newest first",
		UsageText: "scidex-oci ls [flags]",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "since", Usage: "created at or after `TIME`: RFC 3339, a date, or how long ago, as 7d or 12h"},
			&cli.StringFlag{Name: "until", Usage: "created before `TIME`"},
			&cli.StringSliceFlag{Name: "state", Usage: "in this `STATE`; repeatable"},
			&cli.StringSliceFlag{Name: "reason", Usage: "ended for this `REASON`; repeatable"},
			&cli.StringSliceFlag{Name: "label", Usage: "with this label `K=V`; repeatable, all must match"},
			&cli.StringFlag{Name: "limit", Usage: "at most `N` runs, 0 for all (default: 50)"},
			&cli.BoolFlag{Name: "watch", Aliases: []string{"w"}, Usage: "on a terminal: show the list anew every second, until Ctrl-C", DisableDefaultText: true},
			&cli.BoolFlag{Name: "json", Usage: "one JSON object a line", DisableDefaultText: true},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "names only, for other commands: ID, or ID@ATTEMPT where it is not the last attempt", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			if _, err := words(c, 0, 0); err != nil {
				return err
			}
			return p.visit(c, func(h *house, from layers) error { return runList(c.Context, p, h, from) })
		},
	}
}

func runList(ctx context.Context, p *program, h *house, from layers) error {
	filter, err := filterOf(from, time.Now())
	if err != nil {
		return err
	}
	asJSON, err := from.on("json")
	if err != nil {
		return err
	}
	quiet, err := from.on("quiet")
	if err != nil {
		return err
	}
	watch, err := from.on("watch")
	if err != nil {
		return err
	}
	if watch {
		return p.watchList(ctx, h, from, asJSON || quiet)
	}
	runs, err := h.runner.List(ctx, filter)
	switch {
	case err != nil:
		return err
	case asJSON:
		return listJSON(p.stdout, runs)
	case quiet:
		return listNames(ctx, p.stdout, h.catalog, runs)
	}
	return listTable(ctx, p.stdout, runs, h)
}

// listed is a line of ls --json; the fields are those of a result.
type listed struct {
	ID            string            `json:"id"`
	Attempt       int               `json:"attempt"`
	State         catalog.State     `json:"state"`
	Reason        string            `json:"reason"`
	Message       string            `json:"message"`
	ExitCode      int               `json:"exit_code"`
	CreatedAt     *time.Time        `json:"created_at"`
	StartedAt     *time.Time        `json:"started_at"`
	FinishedAt    *time.Time        `json:"finished_at"`
	Usage         result.Usage      `json:"usage"`
	OutputsTotal  int64             `json:"outputs_total"`
	RejectedTotal int64             `json:"rejected_total"`
	Labels        map[string]string `json:"labels"`

	Pinned           bool       `json:"pinned"`
	OutputsRemovedAt *time.Time `json:"outputs_removed_at,omitempty"`
}

func listJSON(w io.Writer, runs []catalog.Run) error {
	for _, r := range runs {
		line := listed{
			ID: r.ID, Attempt: r.Attempt, State: r.State, Reason: r.Reason, Message: r.Message, ExitCode: r.ExitCode,
			CreatedAt: moment(r.CreatedAt), StartedAt: moment(r.StartedAt), FinishedAt: moment(r.FinishedAt),
			Usage: usageOf(r), OutputsTotal: r.OutputsTotal, RejectedTotal: r.RejectedTotal, Labels: r.Labels,
			Pinned: r.Pinned, OutputsRemovedAt: moment(r.OutputsRemovedAt),
		}
		if line.Labels == nil {
			line.Labels = map[string]string{}
		}
		if err := writeJSON(w, line); err != nil {
			return err
		}
	}
	return nil
}

func moment(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// usageOf is what the catalog knows of a run's usage; nothing before its end.
func usageOf(r catalog.Run) result.Usage {
	var report result.Report
	_ = json.Unmarshal(r.Report, &report) // a run that has not ended has none
	return report.Usage
}

// listNames prints names that rm, show and the like take for exactly these runs.
func listNames(ctx context.Context, w io.Writer, cat catalog.Catalog, runs []catalog.Run) error {
	for _, r := range runs {
		last, err := cat.Get(ctx, catalog.Key{ID: r.ID})
		if errors.Is(err, catalog.ErrNotFound) {
			continue // it was removed since it was listed
		}
		if err != nil {
			return err
		}
		name := r.ID
		if last.Attempt != r.Attempt {
			name = r.Key.String()
		}
		if _, err := fmt.Fprintln(w, escape(name)); err != nil {
			return err
		}
	}
	return nil
}

// attempt names one attempt of an analysis.
func listTable(ctx context.Context, w io.Writer, runs []catalog.Run, h *house) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(tw, "ID\tATTEMPT\tSTATE\tREASON\tCREATED\tWALL\tOUTPUTS\tLABELS")
	for _, r := range runs {
		state, wall := string(r.State), span(usageOf(r).WallMS)
		if !r.State.Final() {
			state, wall = h.life(ctx, r)
		}
		fmt.Fprintf(tw, "%s\t%d\t%s\t%s\t%s\t%s\t%d\t%s\n", escape(r.ID), r.Attempt, escape(state), escape(r.Reason),
			localTime(r.CreatedAt), wall, r.OutputsTotal, labels(r.Labels))
	}
	return tw.Flush()
}

// localTime is for a person: their own time, to the second.
func localTime(t time.Time) string { return t.Local().Format(time.RFC3339) }

func labels(all map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		list = append(list, escape(name+"="+all[name]))
	}
	return strings.Join(list, ",")
}
