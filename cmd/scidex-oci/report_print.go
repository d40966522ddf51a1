package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/runner/check/probe"
)

// reportPrinter prints the reports of doctor and selftest for a person.
type reportPrinter struct {
	w       io.Writer
	palette palette
}

func newReportPrinter(p *program) reportPrinter {
	return reportPrinter{w: p.stdout, palette: newPalette(p.stdout.File, p.env)}
}

// line prints one result: its state, a name in a column of its own, and text.
func (r reportPrinter) line(state string, width int, name, text string) {
	fmt.Fprintf(r.w, "%s  %-*s %s\n", state, width, escape(name), escape(text))
}

// verdict is text in green or red.
func (r reportPrinter) verdict(good bool, text string) string {
	if good {
		return r.palette.paint("32", text)
	}
	return r.palette.paint("31", text)
}

// reportStatus is the exit code of a report.
func reportStatus(good bool) error {
	if good {
		return nil
	}
	return exitStatus(1)
}

// stoppedStatus prints what a check that was stopped has shown, and returns the exit code. Other errors stay as they are.
func stoppedStatus(stderr io.Writer, err error, shown string) error {
	var stopped *probe.StoppedError
	if !errors.As(err, &stopped) {
		return err
	}
	fmt.Fprintf(stderr, "scidex-oci: %s; %s\n", stopped, shown)
	return exitStatus(stopped.Signal.ExitCode)
}
