package commands

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/results"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/table"
)

// newTable makes the command table.
func newTable(p *command.Program) *cli.Command {
	o := &tableOptions{}
	return &cli.Command{
		Name:      "table",
		Usage:     "join one output of many runs into one table with their labels",
		UsageText: "scidex-oci table [--label K=V]... [--state S]... [--format csv|json] [-o FILE] PATH",
		ArgsUsage: "PATH",
		Description: `PATH is the output: a table (CSV or TSV, with a header), or JSON: one object, an array of objects, or one object a line. Its
extension says which, else its first bytes. Of each id only the last attempt is taken, and only if it is complete, unless
--state or --reason is given; runs come in the order in which they were created.

The columns are id, attempt, state, the labels by name, then those of the outputs, in the order in which they were first
seen. A label with the name of another column becomes label.NAME; a column of an output that is named id, attempt or state
becomes output.NAME. A column has the narrowest type that holds all of its cells: integers and numbers of 64 bits, true and
false, else text. Objects and arrays inside of JSON become text. --format json writes one object a line, of which
pandas makes Parquet (docs/sweeps.md).

Outputs are written by analyses that were not reviewed. In CSV a text that a spreadsheet would take for a formula gets an
apostrophe in front; --exact leaves it out. An output is refused that has more than ` + fmt.Sprint(table.MaxColumns) + ` columns, a cell of more than 256 KiB, a
record of more than 1 MiB, or JSON that is nested deeper than ` + fmt.Sprint(table.MaxDepth) + `. Runs without the output, and outputs that cannot be read,
are left out and counted on standard error, with the first of each.

Exit codes of table:
  0    the table has rows
  1    it would have none; nothing is written
  125  the contents of an output are damaged or missing in the blob store (the table has the others), or another error`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, path string) error {
			return command.UntilStopped(ctx, func(ctx context.Context) error { return runTable(ctx, p, st, o, path) })
		}),
	}
}

// runTable finds the outputs, surveys them, and writes the table.
func runTable(ctx context.Context, p *command.Program, st *stores.Stores, o *tableOptions, path string) error {
	to, err := o.target(p)
	if err != nil {
		return err
	}
	filter, err := o.filterAt(time.Now())
	if err != nil {
		return err
	}
	j := &tableJoin{stores: st, path: strings.TrimPrefix(path, "./")}
	if err := j.find(ctx, filter); err != nil {
		return err
	}
	defer j.runs.close()
	if err := j.survey(ctx); err != nil {
		return err
	}
	j.skipped.say(p.Stderr, j.path, j.found)
	if j.columns.Rows() == 0 {
		return j.none(ctx, p)
	}
	if err := to.put(func(w io.Writer) error { return j.write(ctx, p, o, w) }); err != nil {
		return fmt.Errorf("the table is not written: %w", err)
	}
	p.Tell("table: %d rows of %s", j.columns.Rows(), format.Count(len(j.runs.at), "run", "runs"))
	return j.skipped.failure()
}

// none says why there is no table.
func (j *tableJoin) none(ctx context.Context, p *command.Program) error {
	if err := j.skipped.failure(); err != nil {
		return err
	}
	why := fmt.Sprintf("no row; %s found, and no output %q has one", format.Count(j.found, "run", "runs"), j.path)
	if j.skipped.missing.n > 0 {
		near, err := results.NearOutput(ctx, j.stores.Catalog, j.skipped.missing.first, j.path)
		if err != nil {
			return err
		}
		why += near
	}
	if j.found == 0 {
		why = "no run matches; scidex-oci ls shows which there are, and --state takes others than complete ones"
	}
	fmt.Fprintf(p.Stderr, "scidex-oci: table: %s\n", screen.Escape(why))
	return command.ExitStatus(1)
}

// write writes the table in its format.
func (j *tableJoin) write(ctx context.Context, p *command.Program, o *tableOptions, w io.Writer) error {
	layout := j.columns.Layout()
	to, err := o.writer(w, layout)
	if err != nil {
		return err
	}
	if err := j.rows(ctx, layout, to); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	if c, ok := to.(*table.CSV); ok && c.Guarded() > 0 {
		fmt.Fprintf(p.Stderr, "scidex-oci: table: an apostrophe is in front of %s that a spreadsheet would take for a formula; --exact leaves it out\n",
			format.Count(c.Guarded(), "text", "texts"))
	}
	return nil
}
