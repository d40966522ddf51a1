package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/deliver"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newOutputsCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:        "outputs",
		Usage:       "list, print, export and find outputs",
		UsageText:   "scidex-oci outputs ls|cat|export|push|find ...\nscidex-oci outputs ID [--json]",
		Description: "outputs ID is outputs ls ID.",
		Subcommands: []*cli.Command{
			newOutputsListCommand(p), newOutputsCatCommand(p), newOutputsExportCommand(p),
			command.NetEntry("push", "push the outputs of a run to a registry, as an OCI artifact"), newOutputsFindCommand(p),
		},
	}
}

func newOutputsListCommand(p *command.Program) *cli.Command {
	o := &outputsListOptions{}
	return &cli.Command{
		Name:      "ls",
		Usage:     "list all outputs and rejected entries of a run",
		UsageText: "scidex-oci outputs ls ID [--json]",
		ArgsUsage: "ID",
		Flags:     o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runOutputsList(ctx, p, st, *o, given)
		}),
	}
}

// outputsListOptions are the options of outputs ls.
type outputsListOptions struct {
	json bool
}

func (o *outputsListOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.json, "json", "one JSON object a line, with \"verdict\": \"output\" or \"rejected\""),
	)
}

func newOutputsCatCommand(p *command.Program) *cli.Command {
	return &cli.Command{
		Name:      "cat",
		Usage:     "print one output; escaped if standard output is a terminal",
		UsageText: "scidex-oci outputs cat ID PATH",
		ArgsUsage: "ID PATH",
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 2, 2)
			if err != nil {
				return err
			}
			return p.WithStores(c, func(st *stores.Stores) error { return runOutputsCat(c.Context, p, st, given[0], given[1]) })
		},
	}
}

// rowsAligned is how many rows of outputs ls are aligned together: they are held in memory until then.
const rowsAligned = 1000

func runOutputsList(ctx context.Context, p *command.Program, st *stores.Stores, o outputsListOptions, name string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	listed, rows, tw := 0, 0, tabwriter.NewWriter(p.Stdout, 0, 8, 2, ' ', 0)
	print := func(e outputs.Entry) error {
		listed++
		if o.json {
			return screen.WriteJSON(p.Stdout, results.NewEntry(e))
		}
		if rows++; rows%rowsAligned == 0 {
			if err := tw.Flush(); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(tw, rowOf(e))
		return err
	}
	var printed error
	err = st.Catalog.Outputs(ctx, run.Key, func(e outputs.Entry) bool {
		printed = print(e)
		return printed == nil
	})
	err = errors.Join(err, printed, tw.Flush())
	if err == nil && listed == 0 && !o.json {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", noOutputs(run))
	}
	return err
}

// noOutputs is the sentence that is printed instead of outputs.
func noOutputs(run catalog.Run) string {
	if !run.State.Final() {
		return deliver.OutputsHere(run).Error()
	}
	return fmt.Sprintf("run %q has no outputs", run.Key)
}

func rowOf(e outputs.Entry) string {
	if e.Rejected != "" {
		r := results.RejectedCells(result.NewRejected(e))
		return r[0] + "\t-\trejected: " + r[1] + "\t" + r[2]
	}
	o := results.OutputCells(result.NewOutput(e))
	row := o[0] + "\t" + o[1] + "\t" + o[2] + "\t" + o[3]
	if e.Partial {
		row += " partial"
	}
	return row
}

func runOutputsCat(ctx context.Context, p *command.Program, st *stores.Stores, name, path string) error {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	entry, err := st.Catalog.Output(ctx, run.Key, []byte(path))
	if errors.Is(err, catalog.ErrNotFound) {
		entry, err = asShown(ctx, st.Catalog, run.Key, path)
	}
	if err != nil {
		return err
	}
	if err := deliver.OutputsRemoved(run); err != nil {
		return err
	}
	return printBlob(ctx, p, st, entry.SHA256, p.Stdout.File)
}

// asShown finds an output by its name as shown in a table, in which it may be escaped.
func asShown(ctx context.Context, cat catalog.Catalog, key catalog.Key, path string) (outputs.Entry, error) {
	var found *outputs.Entry
	seen := 0
	err := cat.Outputs(ctx, key, func(e outputs.Entry) bool {
		if screen.Escape(string(e.Path)) == path {
			found = &e
		}
		seen++
		return found == nil && seen < results.NearAmong
	})
	switch {
	case err != nil:
		return outputs.Entry{}, err
	case found == nil:
		near, err := results.NearOutput(ctx, cat, key, path)
		if err != nil {
			return outputs.Entry{}, err
		}
		return outputs.Entry{}, fmt.Errorf("run %q has no output %q%s", key, path, cmp.Or(near, fmt.Sprintf("; see \"scidex-oci outputs ls %s\"", key)))
	case found.Rejected != "":
		return outputs.Entry{}, fmt.Errorf("%q of run %q is no output: it was rejected as %s", path, key, found.Rejected)
	}
	return *found, nil
}
