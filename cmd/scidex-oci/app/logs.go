package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
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
	"github.com/scidex-ai/scidex-oci/runner/observe/event"
	"github.com/scidex-ai/scidex-oci/runner/watch"
)

func newLogsCommand(p *command.Program) *cli.Command {
	o := &logsOptions{}
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the kept standard output and standard error of a run, also while it goes on",
		UsageText: "scidex-oci logs ID [--stdout|--stderr] [--follow|--tail N] [--json]",
		ArgsUsage: "ID",
		Flags:     o.flags(),
		Action: p.ForOne(func(ctx context.Context, st *stores.Stores, given string) error {
			return runLogs(ctx, p, st, *o, given)
		}),
	}
}

// logsOptions are the options of logs.
type logsOptions struct {
	follow, stdout, stderr, json bool

	tail int // lines; 0: all
}

func (o *logsOptions) flags() []cli.Flag {
	return options.List(
		options.Bool(&o.follow, "follow", "from the start, and go on until the run has ended", "f"),
		options.Count(&o.tail, "tail", "only the last `N` lines of each stream, as far as they are there now", 1, "n"),
		options.Bool(&o.stdout, "stdout", "standard output only"),
		options.Bool(&o.stderr, "stderr", "standard error only, on standard output"),
		options.Bool(&o.json, "json", "one JSON object for each part, as the events of type log of run --events have in data"),
	)
}

func runLogs(ctx context.Context, p *command.Program, st *stores.Stores, o logsOptions, name string) error {
	if o.follow && o.tail > 0 {
		return command.Usagef("logs: --follow prints all from the start, and --tail the end of what is there: give one of them")
	}
	if o.stdout == o.stderr {
		o.stdout, o.stderr = true, true
	}
	run, err := watch.Find(ctx, st.Host, name)
	if err != nil {
		return err
	}
	to, done := o.streams(p, run)
	run, err = watch.CopyLogs(ctx, st.Host, run, to, o.follow)
	err = errors.Join(err, done())
	if err != nil {
		return noLogs(run, err)
	}
	return tellTruncated(p, run, to)
}

// streams are where the logs of a run go.
func (o logsOptions) streams(p *command.Program, run catalog.Run) (to watch.Streams, done func() error) {
	var ends []func() error
	for i, wanted := range []bool{o.stdout, o.stderr} {
		if !wanted {
			continue
		}
		var end func() error
		var last *lastLines
		if o.tail > 0 {
			last = &lastLines{most: o.tail}
		}
		if o.json {
			to[i], end = partsJSON(p.Stdout, run.Attempt, []string{"stdout", "stderr"}[i], last)
		} else {
			file := p.Stdout.File
			if i == 1 && o.stdout {
				file = p.Stderr
			}
			to[i], end = screen.Display(file)
		}
		if last != nil {
			last.to, to[i] = to[i], last
			ends = append(ends, last.end)
		}
		ends = append(ends, end)
	}
	return to, func() (err error) {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
		return err
	}
}

// partsJSON writes the parts of a stream as JSON; last, if it is not nil, drops what is before them.
func partsJSON(w io.Writer, attempt int, name string, last *lastLines) (to io.Writer, end func() error) {
	var failed error
	parts := &event.Stream{Limit: math.MaxInt64, Tell: func(offset int64, part []byte) {
		if last != nil {
			offset += last.dropped
		}
		failed = errors.Join(failed, screen.WriteJSON(w, event.NewLog(attempt, name, offset, part)))
	}}
	return parts, func() error {
		parts.End()
		return failed
	}
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
