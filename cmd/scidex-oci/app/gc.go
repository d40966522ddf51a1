package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/check/doctor"
	"github.com/scidex-ai/scidex-oci/runner/check/selftest"
	"github.com/scidex-ai/scidex-oci/runner/host/lockdir"
	"github.com/scidex-ai/scidex-oci/runner/recovery"
)

func newGCCommand(p *command.Program) *cli.Command {
	o := &gcOptions{}
	return &cli.Command{
		Name:      "gc",
		Usage:     "remove what killed runs left, blobs that nothing names, and by retention old runs",
		UsageText: "scidex-oci gc [--older-than AGE] [--keep-last N] [--outputs-only] [--dry-run] [--json]",
		Description: `Without --older-than and --keep-last, on the command line, in the environment or in the config file (below
its key "gc"), no committed result is removed. With both, a run goes that satisfies both: it ended before AGE and
is not among the newest N runs of this root. A run that is pinned, has not ended, was written by another root or
is the only copy of what was not committed never goes. A blob goes when it is an hour old and no run needs it.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			if _, err := command.Args(c, 0, 0); err != nil {
				return err
			}
			return p.WithRawStores(c, func(st *stores.Stores) error { return runGC(c.Context, p, st, *o) })
		},
	}
}

// gcOptions are the options of gc.
type gcOptions struct {
	retention    options.Retention
	dryRun, json bool
}

func (o *gcOptions) flags() []cli.Flag {
	return options.List(append(o.retention.Flags(),
		options.Bool(&o.dryRun, "dry-run", "say what would be done and do nothing"),
		options.Bool(&o.json, "json", "print one JSON object"),
	)...)
}

func runGC(ctx context.Context, p *command.Program, st *stores.Stores, o gcOptions) error {
	retention, err := o.retention.At(time.Now())
	if err != nil {
		return err
	}
	report, err := recovery.GC(ctx, st.Host, o.dryRun, retention)
	if err != nil {
		return err
	}
	examination, err := examination(p)
	if err != nil {
		return err
	}
	for _, sweep := range []func() ([]string, error){
		func() ([]string, error) { return lockdir.SweepContent(o.dryRun) },
		func() ([]string, error) { return selftest.Sweep(st.Host.Tmp, o.dryRun) },
		func() ([]string, error) { return command.SweepImages(ctx, st.Host.Root, o.dryRun) },
		func() ([]string, error) { return doctor.Sweep(ctx, st.Host.Root, o.dryRun, examination.Open) },
	} {
		swept, err := sweep()
		report.Removed = append(report.Removed, swept...)
		if err != nil {
			report.Errors = append(report.Errors, err)
		}
	}
	if o.json {
		err = screen.WriteJSON(p.Stdout, collectedOf(report, o.dryRun, retention))
	} else {
		printGC(p.Stdout, report, o.dryRun, retention)
	}
	return errors.Join(append(report.Errors, err)...)
}

// collected is what gc --json prints.
type collected struct {
	DryRun bool `json:"dry_run"`
	// Committed runs had ended with pending results.
	Committed []collectedRun `json:"committed"`

	Lost    []collectedRun `json:"lost"`
	Removed []string       `json:"removed"`
	// Expired runs are those that retention removed, if OutputsOnly only their outputs' contents.
	Expired     []expiredRun `json:"expired"`
	OutputsOnly bool         `json:"outputs_only"`
	// PostProcess are runs whose post-process command was killed with its scidex-oci.
	PostProcess []collectedRun `json:"post_process"`
	// Blobs that no run names, and their bytes.
	Blobs     int64    `json:"blobs"`
	BlobBytes int64    `json:"blob_bytes"`
	Kept      []string `json:"kept"`
	Foreign   []string `json:"foreign"`
	Errors    []string `json:"errors"`
}

type collectedRun struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt"`
}

type expiredRun struct {
	collectedRun
	Outputs int64 `json:"outputs"`
	Bytes   int64 `json:"bytes"` // of the outputs; a blob may belong to several runs
}

func collectedOf(report recovery.GCReport, dryRun bool, retention recovery.Retention) collected {
	all := collected{
		DryRun: dryRun, Committed: []collectedRun{}, Lost: []collectedRun{}, PostProcess: []collectedRun{}, Errors: []string{},
		Expired: []expiredRun{}, OutputsOnly: retention.OutputsOnly,
		Removed: append([]string{}, report.Removed...), Kept: append([]string{}, report.Kept...),
		Foreign: append([]string{}, report.Foreign...), Blobs: report.Blobs, BlobBytes: report.BlobBytes,
	}
	for _, key := range report.Committed {
		all.Committed = append(all.Committed, collectedRun(key))
	}
	for _, key := range report.Lost {
		all.Lost = append(all.Lost, collectedRun(key))
	}
	for _, run := range report.Expired {
		all.Expired = append(all.Expired, expiredRun{collectedRun(run.Key), run.Outputs, run.Bytes})
	}
	for _, key := range report.PostProcess {
		all.PostProcess = append(all.PostProcess, collectedRun(key))
	}
	for _, err := range report.Errors {
		all.Errors = append(all.Errors, err.Error())
	}
	return all
}

func printGC(w io.Writer, report recovery.GCReport, dryRun bool, retention recovery.Retention) {
	committed, lost, removed := "committed ", "lost     ", "removed  "
	if dryRun {
		committed, lost, removed = "would commit     ", "would mark lost  ", "would remove     "
	}
	for _, key := range report.Committed {
		fmt.Fprintf(w, "%s%s: it had ended, and its result waited\n", committed, screen.Escape(key.String()))
	}
	for _, key := range report.Lost {
		fmt.Fprintln(w, lost+screen.Escape(key.String()))
	}
	what := "run "
	if retention.OutputsOnly {
		what = "outputs of run "
	}
	for _, run := range report.Expired {
		fmt.Fprintf(w, "%s%s%s: %s, %s\n", removed, what, screen.Escape(run.String()), format.Count(run.Outputs, "output", "outputs"), format.Size(run.Bytes))
	}
	for _, key := range report.PostProcess {
		name := screen.Escape(key.String())
		fmt.Fprintf(w, "owed     %s: its post-process command did not end; repeat it with \"scidex-oci post-process %s\"\n", name, name)
	}
	for _, what := range report.Removed {
		fmt.Fprintln(w, removed+screen.Escape(what))
	}
	if report.Blobs > 0 {
		fmt.Fprintf(w, "%s%s that no run names, %s\n", removed, format.Count(report.Blobs, "blob", "blobs"), format.Size(report.BlobBytes))
	}
	for _, what := range report.Kept {
		fmt.Fprintf(w, "kept     %s: it holds the only copy of what its run wrote\n", screen.Escape(what))
	}
	for _, what := range report.Foreign {
		fmt.Fprintf(w, "left     %s: no run of this catalog names it\n", screen.Escape(what))
	}
	if len(report.Committed)+len(report.Lost)+len(report.Expired)+len(report.Removed)+len(report.Kept)+len(report.Foreign)+len(report.Errors)+len(report.PostProcess) == 0 && report.Blobs == 0 {
		fmt.Fprintln(w, "nothing to remove")
	}
}
