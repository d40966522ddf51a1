package app

import (
	"errors"
	"fmt"
	"io"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/runner/check"
)

// reportPrinter prints the reports of doctor and selftest for a person.
type reportPrinter struct {
	w       io.Writer
	palette screen.Palette
}

func newReportPrinter(p *command.Program) reportPrinter {
	return reportPrinter{w: p.Stdout, palette: screen.NewPalette(p.Stdout.File, p.Env)}
}

// finding prints one finding in a line: its status, its name, what it is about and what was seen; and below what that means
// and what helps, if something is to be cured. What is not needed here it does not print.
func (r reportPrinter) finding(f check.Finding, statusWidth, nameWidth int) {
	text := f.Seen
	switch {
	case f.Status == check.Skipped && f.After == "":
		return
	case f.Status == check.Skipped:
		text = "after " + f.After
	case f.Target != "":
		text = f.Target + ": " + text
	}
	if f.Control != "" {
		text += " (control: " + f.Control + ")"
	}
	good := check.OK
	if f.Status == check.Pass {
		good = check.Pass
	}
	status := r.palette.Outcome(string(f.Status), string(good), string(check.Fail), statusWidth)
	fmt.Fprintf(r.w, "%s  %-*s %s\n", status, nameWidth, screen.Escape(f.Name), screen.Escape(text))
	if f.Cure != "" {
		fmt.Fprintf(r.w, "%9smeans    %s\n%9scure     %s\n", "", f.Means, "", f.Cure)
	}
	if f.Command != "" {
		fmt.Fprintf(r.w, "%9scommand  %s\n", "", r.palette.Bold(screen.Escape(f.Command)))
	}
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
	var stopped *check.StoppedError
	if !errors.As(err, &stopped) {
		return err
	}
	fmt.Fprintf(stderr, "scidex-oci: %s; %s\n", stopped, shown)
	return command.ExitStatus(stopped.Signal.ExitCode)
}
