package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs"
	"github.com/scidex-ai/scidex-oci/outputs/report"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newReportCommand(p *command.Program) *cli.Command {
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
		options.Bool(&o.overwrite, "overwrite", "replace FILE where it exists"),
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
	return to.put(write)
}

// pageOf is what writes the page of a run, or of two where another is named.
func pageOf(ctx context.Context, st *stores.Stores, name, another string) (func(io.Writer) error, error) {
	run, err := reported(ctx, st, name)
	if err != nil || another == "" {
		return func(w io.Writer) error { return report.Write(w, run, st.BlobOpener(ctx)) }, err
	}
	second, err := reported(ctx, st, another)
	return func(w io.Writer) error { return report.Compare(w, run, second, st.BlobOpener(ctx)) }, err
}

// reported is what a page shows of a run.
func reported(ctx context.Context, st *stores.Stores, name string) (result.Result, error) {
	run, err := st.Find(ctx, name)
	if err != nil {
		return result.Result{}, err
	}
	if !run.State.Final() {
		return result.Result{}, fmt.Errorf("run %q is %s; a page is made of a run that has ended: wait for it with \"scidex-oci show --wait %s\"", run.Key, run.State, run.ID)
	}
	return watch.Show(ctx, st.Host, run)
}

// pageFile is the file of a page.
type pageFile struct {
	path    string
	replace bool
}

// newPageFile is nil for standard output. It refuses an existing file before anything is read.
func newPageFile(o reportOptions) (*pageFile, error) {
	if o.out.Value == "" {
		return nil, command.Usagef("report: no file to write to; give --out FILE, or --out - for standard output")
	}
	if o.out.Value == "-" {
		return nil, nil // standard output is no file to make
	}
	to := &pageFile{o.out.Path(""), o.overwrite}
	info, err := os.Lstat(to.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return to, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s exists and is no regular file; name another", to.path)
	case !to.replace:
		return nil, to.taken()
	}
	return to, nil
}

func (f *pageFile) taken() error {
	return fmt.Errorf("%s exists already; name another file, or use --overwrite", f.path)
}

// put writes the file atomically: a temporary file beside it is given its name.
func (f *pageFile) put(write func(io.Writer) error) error {
	name := filepath.Join(filepath.Dir(f.path), ".scidex-oci-report-"+rand.Text())
	beside, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666) //nolint:gosec // the caller's umask says who may read it
	if err != nil {
		return fmt.Errorf("the page is not written: %w", err)
	}
	defer os.Remove(name) // where it has not become the page
	if err = errors.Join(write(beside), beside.Close()); err == nil {
		err = f.name(name)
	}
	if err != nil {
		return fmt.Errorf("the page is not written: %w", err)
	}
	return nil
}

// name gives the finished file its name, which may have been taken meanwhile.
func (f *pageFile) name(finished string) error {
	if f.replace {
		return os.Rename(finished, f.path)
	}
	err := outputs.Publish(unix.AT_FDCWD, finished, f.path)
	if errors.Is(err, fs.ErrExist) {
		return f.taken()
	}
	return err
}
