package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
)

func newLogsCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the kept standard output and standard error of a run, also while it goes on",
		UsageText: "scidex-oci logs ID [--stdout|--stderr] [--follow]",
		ArgsUsage: "ID",
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "from the start, and go on until the run has ended", DisableDefaultText: true},
			&cli.BoolFlag{Name: "stdout", Usage: "standard output only", DisableDefaultText: true},
			&cli.BoolFlag{Name: "stderr", Usage: "standard error only", DisableDefaultText: true},
		},
		Action: func(c *cli.Context) error {
			given, err := words(c, 1, 1)
			if err != nil {
				return err
			}
			return p.visit(c, func(h *house, from layers) error { return runLogs(c.Context, p, h, from, given[0]) })
		},
	}
}

// wanted are the switches of logs.
type wanted struct{ stdout, stderr, follow bool }

func wantedOf(from layers) (w wanted, err error) {
	for name, on := range map[string]*bool{"stdout": &w.stdout, "stderr": &w.stderr, "follow": &w.follow} {
		if *on, err = from.on(name); err != nil {
			return w, err
		}
	}
	if w.stdout == w.stderr {
		w.stdout, w.stderr = true, true
	}
	return w, nil
}

func runLogs(ctx context.Context, p *program, h *house, from layers, name string) error {
	w, err := wantedOf(from)
	if err != nil {
		return err
	}
	run, err := h.find(ctx, name)
	if err != nil {
		return err
	}
	stdout, closeStdout := display(p.stdout.File)
	stderr, closeStderr := display(p.stderr)
	var to runner.Streams
	if w.stdout {
		to[0] = stdout
	}
	if w.stderr {
		to[1] = stderr
	}
	run, err = h.runner.CopyLogs(ctx, run, to, w.follow)
	err = errors.Join(err, closeStdout(), closeStderr())
	if err != nil {
		return noLogs(run, err)
	}
	return p.tellTruncated(run, to)
}

func noLogs(run catalog.Run, err error) error {
	var elsewhere *runner.ElsewhereError
	switch {
	case errors.As(err, &elsewhere):
		return fmt.Errorf("run %q is %s and its logs cannot be read from here before it has ended: %w", run.Key, run.State, elsewhere)
	case errors.Is(err, runner.ErrDead):
		return killed(run.Key)
	}
	return err
}

// tellTruncated says on standard error which streams were not kept, or not whole.
func (p *program) tellTruncated(run catalog.Run, to runner.Streams) error {
	if !run.State.Final() {
		return nil
	}
	report, err := result.ReportOf(run)
	if err != nil {
		return fmt.Errorf("report of run %q: %w", run.Key, err)
	}
	if run.State == catalog.Lost && report.Logs == (result.Logs{}) {
		fmt.Fprintf(p.stderr, "scidex-oci: run %q is lost, and its logs were not kept: %s\n", run.Key, run.Message)
	}
	for i, log := range []result.Log{report.Logs.Stdout, report.Logs.Stderr} {
		if to[i] != nil && log.Truncated {
			fmt.Fprintf(p.stderr, "scidex-oci: %s is truncated: the analysis wrote %s; see --log-size of run\n", []string{"stdout", "stderr"}[i], size(log.Bytes))
		}
	}
	return nil
}

// display makes the way to f: untouched to a file or pipe, escaped to a terminal.
func display(f *os.File) (to io.Writer, done func() error) {
	if !isTerminal(f) {
		return f, func() error { return nil }
	}
	e := &escaper{to: f}
	return e, e.Close
}

// printBlob writes a blob.
func (p *program) printBlob(ctx context.Context, h *house, sha256 string, f *os.File) error {
	from, err := h.blobs.Open(ctx, sha256)
	if err != nil {
		return err
	}
	defer from.Close()
	to, done := display(f)
	_, err = io.Copy(to, from)
	return errors.Join(err, done())
}
