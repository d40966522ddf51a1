package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/docker/go-units"
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/doctor"
	"github.com/scidex-ai/scidex-oci/runner/selftest"
)

func newGCCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "gc",
		Usage:     "remove what killed runs left, and blobs that nothing names",
		UsageText: "scidex-oci gc [--dry-run] [--json]",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "dry-run", Usage: "say what would be done and do nothing", DisableDefaultText: true},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			if _, err := words(c, 0, 0); err != nil {
				return err
			}
			return p.visit(c, func(h *house, from layers) error { return runGC(c.Context, p, h, from) })
		},
	}
}

func runGC(ctx context.Context, p *program, h *house, from layers) error {
	dryRun, err := from.on("dry-run")
	if err != nil {
		return err
	}
	asJSON, err := from.on("json")
	if err != nil {
		return err
	}
	report, err := h.runner.GC(ctx, dryRun)
	if err != nil {
		return err
	}
	examination, err := p.examination(from)
	if err != nil {
		return err
	}
	for _, sweep := range []func() ([]string, error){
		func() ([]string, error) { return selftest.Sweep(h.runner.Tmp, dryRun) },
		func() ([]string, error) { return doctor.Sweep(ctx, h.runner.Root, dryRun, examination.Open) },
	} {
		swept, err := sweep()
		report.Removed = append(report.Removed, swept...)
		if err != nil {
			report.Errors = append(report.Errors, err)
		}
	}
	if asJSON {
		err = writeJSON(p.stdout, collectedOf(report, dryRun))
	} else {
		printGC(p.stdout, report, dryRun)
	}
	return errors.Join(append(report.Errors, err)...)
}

// collected is what gc --json prints.
type collected struct {
	DryRun bool           `json:"dry_run"`
	Lost   []collectedRun `json:"lost"`
	// PostProcess are runs whose post-process command was killed with its scidex-oci.
	PostProcess []collectedRun `json:"post_process"`
	Removed     []string       `json:"removed"`
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

func collectedOf(report runner.GCReport, dryRun bool) collected {
	all := collected{
		DryRun: dryRun, Lost: []collectedRun{}, PostProcess: []collectedRun{}, Errors: []string{},
		Removed: append([]string{}, report.Removed...), Kept: append([]string{}, report.Kept...),
		Foreign: append([]string{}, report.Foreign...), Blobs: report.Blobs, BlobBytes: report.BlobBytes,
	}
	for _, key := range report.Lost {
		all.Lost = append(all.Lost, collectedRun(key))
	}
	for _, key := range report.PostProcess {
		all.PostProcess = append(all.PostProcess, collectedRun(key))
	}
	for _, err := range report.Errors {
		all.Errors = append(all.Errors, err.Error())
	}
	return all
}

func printGC(w io.Writer, report runner.GCReport, dryRun bool) {
	lost, removed := "lost     ", "removed  "
	if dryRun {
		lost, removed = "would mark lost  ", "would remove     "
	}
	for _, key := range report.Lost {
		fmt.Fprintln(w, lost+escape(attempt(key)))
	}
	for _, key := range report.PostProcess {
		name := escape(attempt(key))
		fmt.Fprintf(w, "owed     %s: its post-process command did not end; repeat it with \"scidex-oci post-process %s\"\n", name, name)
	}
	for _, what := range report.Removed {
		fmt.Fprintln(w, removed+escape(what))
	}
	if report.Blobs > 0 {
		fmt.Fprintf(w, "%s%d blobs that no run names, %s\n", removed, report.Blobs, units.BytesSize(float64(report.BlobBytes)))
	}
	for _, what := range report.Kept {
		fmt.Fprintf(w, "kept     %s: it holds the only copy of what its run wrote\n", escape(what))
	}
	for _, what := range report.Foreign {
		fmt.Fprintf(w, "left     %s: no run of this catalog names it\n", escape(what))
	}
	if len(report.Lost)+len(report.Removed)+len(report.Kept)+len(report.Foreign)+len(report.Errors)+len(report.PostProcess) == 0 && report.Blobs == 0 {
		fmt.Fprintln(w, "nothing to remove")
	}
}
