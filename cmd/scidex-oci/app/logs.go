package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/stores"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newLogsCommand(p *command.Program) *cli.Command {
	o := &logsOptions{}
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the kept standard output and standard error of a run, also while it goes on",
		UsageText: "scidex-oci logs ID [--stdout|--stderr] [--follow]",
		ArgsUsage: "ID",
		Flags:     o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runLogs(ctx, p, st, *o, given)
		}),
	}
}

// logsOptions are the options of logs.
type logsOptions struct {
	follow, stdout, stderr bool
}

func (o *logsOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.follow, "follow", "from the start, and go on until the run has ended", "f"),
		options.Bool(&o.stdout, "stdout", "standard output only"),
		options.Bool(&o.stderr, "stderr", "standard error only, on standard output"),
	)
}

func runLogs(ctx context.Context, p *command.Program, st *stores.Stores, o logsOptions, name string) error {
	if o.stdout == o.stderr {
		o.stdout, o.stderr = true, true
	}
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	stdout, closeStdout := screen.Display(p.Stdout.File)
	stderr, closeStderr := screen.Display(p.Stderr)
	to := watch.Streams{stdout, stderr}
	switch {
	case !o.stdout:
		to = watch.Streams{1: stdout}
	case !o.stderr:
		to = watch.Streams{0: stdout}
	}
	run, err = watch.CopyLogs(ctx, st.Host, run, to, o.follow)
	err = errors.Join(err, closeStdout(), closeStderr())
	if err != nil {
		return noLogs(run, err)
	}
	return tellTruncated(p, run, to)
}

func noLogs(run catalog.Run, err error) error {
	var elsewhere *watch.ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return fmt.Errorf("run %q is %s and its logs cannot be read from here before it has ended: %w", run.Key, run.State, elsewhere)
	case errors.Is(err, watch.ErrDead):
		return watch.Killed(run.Key)
	}
	return err
}

// tellTruncated reports on standard error which streams were dropped or cut.
func tellTruncated(p *command.Program, run catalog.Run, to watch.Streams) error {
	if !run.State.Final() {
		return nil
	}
	report, err := result.ReportOf(run)
	if err != nil {
		return fmt.Errorf("report of run %q: %w", run.Key, err)
	}
	if run.State == outcome.Lost && report.Logs == (result.Logs{}) {
		fmt.Fprintf(p.Stderr, "scidex-oci: run %q is lost, and its logs were not kept: %s\n", run.Key, run.Message)
	}
	for i, log := range []result.Log{report.Logs.Stdout, report.Logs.Stderr} {
		if to[i] != nil && log.Truncated {
			fmt.Fprintf(p.Stderr, "scidex-oci: %s is truncated: the analysis wrote %s; see --log-size of run\n", []string{"stdout", "stderr"}[i], format.Size(log.Bytes))
		}
	}
	return nil
}

// printBlob writes a blob.
func printBlob(ctx context.Context, p *command.Program, st *stores.Stores, sha256 string, f *os.File) error {
	from, err := st.Blobs.Open(ctx, sha256)
	if err != nil {
		return err
	}
	defer from.Close()
	to, done := screen.Display(f)
	_, err = io.Copy(to, from)
	return errors.Join(err, done())
}
