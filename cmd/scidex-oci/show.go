package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
	"github.com/scidex-ai/scidex-oci/spec"
)

func newShowCommand(p *program) *cli.Command {
	o := &showOptions{}
	return &cli.Command{
		Name:      "show",
		Usage:     "show the result of a run",
		UsageText: "scidex-oci show ID [--json] [--wait]",
		ArgsUsage: "ID",
		Description: `The exit code is 0 however the run has ended, with --wait too: the result has its own. --wait ends with 125 where the
run's scidex-oci was killed, so that it will never end.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, 1)
			if err != nil {
				return err
			}
			return p.visit(c, func(h *stores) error { return runShow(c.Context, p, h, *o, given[0]) })
		},
	}
}

// showOptions are the options of show.
type showOptions struct {
	json, wait bool
}

func (o *showOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "print the result as run --json does"),
		options.Bool(&o.wait, "wait", "wait first until the run has ended"),
	)
}

func runShow(ctx context.Context, p *program, h *stores, o showOptions, name string) error {
	run, err := h.find(ctx, name)
	if err == nil && o.wait {
		run, err = h.await(ctx, run.Key)
	}
	if err != nil {
		return err
	}
	if o.json {
		result, err := watch.Show(ctx, h.runner, run)
		if err != nil {
			return err
		}
		return writeJSON(p.stdout, result)
	}
	result, err := watch.Summary(ctx, h.runner, run, shownEntries)
	if err != nil {
		return err
	}
	attempts, err := watch.List(ctx, h.runner, catalog.Filter{ID: run.ID})
	if err != nil {
		return err
	}
	t := table{w: p.stdout, palette: newPalette(p.stdout.File, p.env), program: p.again()}
	t.show(result, attempts)
	return nil
}

// show prints all of a result for a person.
func (t table) show(r result.Result, attempts []catalog.Run) {
	t.row("run", fmt.Sprintf("%s (attempt %d)", escape(r.ID), r.Attempt))
	if len(attempts) > 1 {
		t.row("attempts", attemptsOf(attempts))
	}
	t.ending(r)
	t.request(r)
	t.row("labels", labels(r.Labels))
	t.retention(r)
	t.times(r)
	t.usage(r)
	t.evidence(r)
	t.enforced(r)
	t.sandbox(r)
	t.outputs(r)
	t.rejected(r)
	t.audit(r)
	t.logs(r)
	t.postProcess(r)
	for _, warning := range r.Warnings {
		t.row("warning", t.palette.yellow(escape(warning)))
	}
	t.row("kept", escape(r.Kept))
	by := strings.TrimSpace("scidex-oci " + r.ToolVersion)
	if r.Host != "" { // one that is queued has none yet
		by += " on " + r.Host
	}
	t.row("by", escape(by))
}

// attemptsOf lists attempts, the first first: "1 failed, 2 complete".
func attemptsOf(attempts []catalog.Run) string {
	var list []string
	for _, run := range attempts {
		list = append([]string{fmt.Sprintf("%d %s", run.Attempt, run.State)}, list...)
	}
	return strings.Join(list, ", ")
}

func (t table) request(r result.Result) {
	var a spec.Analysis
	if json.Unmarshal(r.Analysis, &a) != nil {
		return // a request of another version; --json has it
	}
	if a.Script != "" {
		t.row("script", commandLine(append([]string{a.Script}, a.Args...)))
	} else {
		t.row("command", commandLine(a.Command))
	}
	for _, place := range []struct{ word, path string }{
		{"data", a.Data}, {"docs", a.Docs}, {"project", a.Project}, {"stage", a.Stage}, {"export", a.Export},
	} {
		if place.path != spec.None {
			t.row(place.word, escape(place.path))
		}
	}
	for _, input := range a.Inputs {
		t.row("input", escape(input))
	}
	t.row("env", labels(a.Env))
	t.row("secrets", escape(strings.Join(a.Secrets, ",")))
}

// retention tells what keeps the run from being removed, or what was.
func (t table) retention(r result.Result) {
	if r.Pinned {
		t.row("pinned", "yes")
	}
	if r.OutputsRemovedAt != nil {
		t.row("removed", "the contents of the outputs, by retention, at "+localTime(*r.OutputsRemovedAt))
	}
}

func commandLine(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, shellWord(word))
	}
	return escape(strings.Join(quoted, " "))
}

func (t table) times(r result.Result) {
	for _, at := range []struct {
		word string
		time *time.Time
	}{{"created", r.CreatedAt}, {"started", r.StartedAt}, {"finished", r.FinishedAt}} {
		if at.time != nil && !at.time.IsZero() {
			t.row(at.word, localTime(*at.time))
		}
	}
}

// evidence tells the kernel's counters that explain an end.
func (t table) evidence(r result.Result) {
	var list []string
	for _, one := range []struct {
		count int64
		what  string
	}{
		{r.Evidence.OOMKills, "killed for memory"},
		{r.Evidence.PidsDenied, "processes denied"},
		{r.Evidence.ThrottledPeriods, fmt.Sprintf("of %d periods throttled (%s)", r.Evidence.Periods, span(r.Evidence.ThrottledMS))},
	} {
		if one.count > 0 {
			list = append(list, fmt.Sprintf("%d %s", one.count, one.what))
		}
	}
	t.row("evidence", strings.Join(list, ", "))
}

func (t table) enforced(r result.Result) {
	if len(r.Enforced) == 0 {
		return
	}
	cells := [][]string{{"LIMIT", "ASKED", "EFFECTIVE", "BY"}}
	for _, e := range r.Enforced {
		cells = append(cells, []string{escape(e.Limit), readable(e.Limit, e.Asked), readable(e.Limit, e.Effective), escape(e.By)})
	}
	t.row("limits", fmt.Sprint(len(r.Enforced)))
	t.rows(cells)
}

func (t table) sandbox(r result.Result) {
	if r.Sandbox.Rootfs == "" {
		return // it was never made
	}
	text := fmt.Sprintf("rootfs %s, network %s, seccomp %s, uid %d on the host (%s)",
		escape(r.Sandbox.Rootfs), escape(r.Sandbox.Network), escape(r.Sandbox.Seccomp), r.Sandbox.UIDOnHost, escape(r.Sandbox.IDs))
	if len(r.Sandbox.Groups) > 0 {
		text += fmt.Sprintf(", with the caller's groups %v", r.Sandbox.Groups)
	}
	t.row("sandbox", text)
	t.image(r.Sandbox)
}

// image tells about the image that is the root filesystem.
func (t table) image(s result.Sandbox) {
	if s.RootfsReference == nil {
		return
	}
	digest := "not checked to the end"
	if s.RootfsDigest != nil {
		digest = escape(*s.RootfsDigest)
	}
	cells := [][]string{{"reference", escape(*s.RootfsReference)}, {"root filesystem", digest}}
	if s.PackagesDigest != nil {
		cells = append(cells, []string{"list of packages", escape(*s.PackagesDigest)})
	}
	t.row("image", escape(s.Rootfs))
	t.rows(cells)
}

func (t table) logs(r result.Result) {
	if !r.State.Final() {
		return
	}
	t.row("logs", "stdout "+logOf(r.Logs.Stdout)+", stderr "+logOf(r.Logs.Stderr))
}

func logOf(l result.Log) string {
	if l.Truncated {
		return size(l.Bytes) + " (truncated)"
	}
	return size(l.Bytes)
}
