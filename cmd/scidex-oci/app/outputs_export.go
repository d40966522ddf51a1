package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newOutputsExportCommand(p *command.Program) *cli.Command {
	o := &outputsExportOptions{}
	return &cli.Command{
		Name:      "export",
		Usage:     "write the outputs of a run, or of many, and scidex-result.json into a directory",
		UsageText: "scidex-oci outputs export ID DIR [--overwrite]\nscidex-oci outputs export --label K=V... [--state S]... DIR [--overwrite]",
		ArgsUsage: "ID DIR, or --label K=V DIR",
		Description: `With --label, or another flag that chooses runs, the last attempt of each that has ended is written to DIR/ID. Such a
directory appears when it is whole. What is whole already is left as it is, so that an export that was ended goes on when it
is repeated; another directory that is not empty is refused unless --overwrite is given, and the other runs are written.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 2)
			if err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			if o.filter.Chooses() {
				return exportMany(c, p, o)
			}
			if len(given) == 1 {
				return command.Usagef("outputs export: 1 argument; give ID DIR, or choose runs with --label K=V DIR")
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runOutputsExport(c.Context, p, st, *o, given[0], given[1]) })
		},
	}
}

// outputsExportOptions are the options of outputs export.
type outputsExportOptions struct {
	filter    options.Filter
	overwrite bool
}

func (o *outputsExportOptions) flags() []cli.Flag {
	return options.List(append(o.filter.Flags("at most `N` runs, those created last; 0 for all (default: 0)", 0),
		options.Bool(&o.overwrite, "overwrite", "write into a directory that is not empty"),
	)...)
}

func runOutputsExport(ctx context.Context, p *command.Program, st *stores.Stores, o outputsExportOptions, name, dir string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	if err := deliver.OutputsHere(run); err != nil {
		return err
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	left, err := deliver.ExportTo(ctx, st.Host, run, options.Absolute(here, dir), o.overwrite)
	if err != nil {
		return err
	}
	if warning := left.Warning(); warning != "" {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", warning)
	}
	p.Tell("wrote %s and the result to %s", format.Count(run.OutputsTotal-left.Count, "output", "outputs"), dir)
	return nil
}

func exportMany(c *cli.Context, p *command.Program, o *outputsExportOptions) error {
	given, err := command.Args(c, 1, 1)
	if err != nil {
		return command.Usagef("outputs export: both an id and flags that choose runs are given; give ID DIR, or the flags and DIR")
	}
	filter, err := o.filter.At(time.Now())
	if err != nil {
		return err
	}
	filter.Last = true
	return p.WithStores(c, func(st *stores.Stores) (err error) {
		below, err := deliver.OpenBelow(options.Absolute(p.Options.Dir, given[0]), o.overwrite)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, below.Close()) }()
		e := &exporter{stores: st, below: below}
		return command.UntilStopped(c.Context, func(ctx context.Context) error {
			if err := watch.Each(ctx, st.Host, filter, func(run catalog.Run) bool { return e.export(ctx, run) }); err != nil {
				return err
			}
			return e.close(p, given[0])
		})
	})
}

// exporter exports runs one by one.
type exporter struct {
	stores                       *stores.Stores
	below                        *deliver.Below
	wrote, there, going, refused int
	first                        error // of the refused
}

// export exports a run; false ends the export.
func (e *exporter) export(ctx context.Context, run catalog.Run) bool {
	if !run.State.Final() {
		e.going++
		return true
	}
	wrote, left, err := e.below.Export(ctx, e.stores.Host, run)
	if warning := left.Warning(); warning != "" {
		e.stores.Host.Log.Warn(warning)
	}
	switch {
	case ctx.Err() != nil:
		e.first = ctx.Err()
		return false
	case err != nil:
		e.refused++
		if e.first == nil {
			e.first = err
		}
	case wrote:
		e.wrote++
	default:
		e.there++
	}
	return true
}

// close says what was done; runs that could not be written are an error.
func (e *exporter) close(p *command.Program, dir string) error {
	if e.refused == 0 && e.first != nil {
		return e.first
	}
	if e.wrote+e.there+e.going+e.refused == 0 {
		return errors.New("outputs export: no run matches; scidex-oci ls shows which there are")
	}
	text := fmt.Sprintf("wrote %s below %s", format.Count(e.wrote, "run", "runs"), dir)
	if e.there > 0 {
		text += fmt.Sprintf("; %d there already", e.there)
	}
	if e.going > 0 {
		text += fmt.Sprintf("; %d not ended yet", e.going)
	}
	fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(text))
	if e.refused > 0 {
		return fmt.Errorf("outputs export: %s could not be written; the first: %w", format.Count(e.refused, "run", "runs"), e.first)
	}
	return nil
}
