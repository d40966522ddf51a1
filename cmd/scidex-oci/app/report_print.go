package app

import (
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/check/probe"
)

// reportPrinter prints the reports of doctor and selftest for a person.
type reportPrinter struct {
	w       io.Writer
	palette screen.Palette
}

func newReportPrinter(p *command.Program) reportPrinter {
	return reportPrinter{w: p.Stdout, palette: screen.NewPalette(p.Stdout.File, p.Env)}
}

// line prints one result: its state, a name in its own column, and text.
func (r reportPrinter) line(state string, width int, name, text string) {
	fmt.Fprintf(r.w, "%s  %-*s %s\n", state, width, screen.Escape(name), screen.Escape(text))
}

// verdict is text in green or red.
func (r reportPrinter) verdict(good bool, text string) string {
	if good {
		return r.palette.Green(text)
	}
	return r.palette.Red(text)
}

// reportStatus is the exit code of a report.
func reportStatus(good bool) error {
	if good {
		return nil
	}
	return command.ExitStatus(1)
}

// stoppedStatus prints what a stopped check has shown, and returns the exit code. Other errors are unchanged.
func stoppedStatus(stderr io.Writer, err error, shown string) error {
	var stopped *probe.StoppedError
	if !errors.As(err, &stopped) {
		return err
	}
	fmt.Fprintf(stderr, "scidex-oci: %s; %s\n", stopped, shown)
	return command.ExitStatus(stopped.Signal.ExitCode)
}
