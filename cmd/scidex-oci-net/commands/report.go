package commands

import (
	"context"
	"fmt"
	"io"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

// newReport makes the command report.
func newReport(p *command.Program) *cli.Command {
	o := &reportOptions{}
	return &cli.Command{
		Name:      "report",
		Usage:     "write a page about a run that has ended: one HTML file for people",
		UsageText: "scidex-oci report ID --out FILE [--against ID] [--overwrite]",
		ArgsUsage: "ID",
		Description: `The page has the figures, tables and texts among the outputs, what was asked for, how the run ended, what it used
beside its limits, its logs and its files. It loads nothing and executes nothing, whatever the outputs hold. With --against
the page has two runs beside each other: what differs in what was asked for, in what they ran in, used and made.`,
		Flags: o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runReport(ctx, p, st, *o, given)
		}),
	}
}

// reportOptions are the options of report.
type reportOptions struct {
	out       options.Text
	against   string
	overwrite bool
}

func (o *reportOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.out, "out", "write to `FILE`; - is standard output", "o"),
		options.String(&o.against, "against", "compare with the run `ID`, which comes second"),
		options.Bool(&o.overwrite, "overwrite", "replace FILE if it exists"),
	)
}

func runReport(ctx context.Context, p *command.Program, st *stores.Stores, o reportOptions, name string) error {
	to, err := newPageFile(o)
	if err != nil {
		return err
	}
	write, err := pageOf(ctx, st, name, o.against)
	if err != nil {
		return err
	}
	if to == nil {
		return write(p.Stdout)
	}
	if err := to.Put(write); err != nil {
		return fmt.Errorf("the page is not written: %w", err)
	}
	p.Tell("wrote %s", o.out.Value)
	return nil
}

// pageOf is what writes the page of a run, or of two where another is named.
func pageOf(ctx context.Context, st *stores.Stores, name, another string) (func(io.Writer) error, error) {
	run, err := endedResult(ctx, st, name)
	if err != nil || another == "" {
		return func(w io.Writer) error { return report.Write(w, run, st.BlobOpener(ctx)) }, err
	}
	second, err := endedResult(ctx, st, another)
	return func(w io.Writer) error { return report.Compare(w, run, second, st.BlobOpener(ctx)) }, err
}

// endedResult is what a page shows of a run.
func endedResult(ctx context.Context, st *stores.Stores, name string) (result.Result, error) {
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return result.Result{}, err
	}
	if !run.State.Final() {
		return result.Result{}, fmt.Errorf("run %q is %s; a page is made of a run that has ended: wait for it with \"scidex-oci show --wait %s\"", run.Key, run.State, run.ID)
	}
	return watch.Show(ctx, st.Host, run)
}

// newPageFile is nil for standard output. It refuses an existing file before anything is read.
func newPageFile(o reportOptions) (*userfile.NewFile, error) {
	switch o.out.Value {
	case "":
		return nil, command.Usagef("report: no file to write to; give --out FILE, or --out - for standard output")
	case "-":
		return nil, nil // standard output is no file to make
	}
	return userfile.Create(o.out.Path(""), o.overwrite, 0o666)
}
