package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/runner"
)

func newLogsCommand(p *program) *cli.Command {
	return &cli.Command{
		Name:      "logs",
		Usage:     "print the kept standard output and standard error of a run",
		UsageText: "scidex-oci logs ID [--stdout|--stderr]",
		ArgsUsage: "ID",
		Flags: []cli.Flag{
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

func runLogs(ctx context.Context, p *program, h *house, from layers, name string) error {
	stdout, err := from.on("stdout")
	if err != nil {
		return err
	}
	stderr, err := from.on("stderr")
	if err != nil {
		return err
	}
	run, err := h.find(ctx, name)
	if err != nil {
		return err
	}
	if !run.State.Final() {
		return fmt.Errorf("run %q is %s; its logs are here when it has ended", attempt(run.Key), run.State)
	}
	var report runner.Report
	if err := json.Unmarshal(run.Report, &report); err != nil {
		return fmt.Errorf("report of run %q: %w", attempt(run.Key), err)
	}
	if stdout || !stderr {
		if err := p.printLog(h, "stdout", report.Logs.Stdout, p.stdout); err != nil {
			return err
		}
	}
	if stderr || !stdout {
		return p.printLog(h, "stderr", report.Logs.Stderr, p.stderr)
	}
	return nil
}

// printLog writes one stream as it was kept, and says so on standard error where it is not all.
func (p *program) printLog(h *house, name string, log runner.Log, to *os.File) error {
	if log.SHA256 != "" {
		if err := p.printBlob(h, log.SHA256, to); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if log.Truncated {
		fmt.Fprintf(p.stderr, "scidex-oci: %s is truncated: the analysis wrote %s; see --log-size of run\n", name, size(log.Bytes))
	}
	return nil
}

// printBlob writes a blob, untouched to a file or pipe and escaped to a terminal.
func (p *program) printBlob(h *house, sha256 string, to *os.File) (err error) {
	from, err := h.blobs.Open(sha256)
	if err != nil {
		return err
	}
	defer from.Close()
	if !isTerminal(to) {
		_, err = io.Copy(to, from)
		return err
	}
	e := &escaper{to: to}
	_, err = io.Copy(e, from)
	if closed := e.Close(); err == nil {
		err = closed
	}
	return err
}
