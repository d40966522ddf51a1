package main

import (
	"fmt"
	"sync"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/request"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/catalog"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
)

// batchReport prints what comes of the lines of a batch: JSON lines, or on a terminal a line for a person.
type batchReport struct {
	mu      sync.Mutex
	program *command.Program
	screen  *screen.Terminal
	stdout  *screen.LenientWriter
	human   bool
	palette screen.Palette
}

func newBatchReport(p *command.Program, terminal *screen.Terminal, o request.Request) *batchReport {
	r := &batchReport{program: p, screen: terminal, stdout: screen.NewLenientWriter(p.Stdout.File), palette: screen.NewPalette(p.Stdout.File, p.Env)}
	if screen.IsTerminal(p.Stdout.File) {
		r.stdout = screen.NewLenientWriter(terminal.Writer(p.Stdout.File))
		r.human = !o.JSON
	}
	return r
}

// bad tells of a line because of which nothing is run.
func (r *batchReport) bad(line batch.Line) {
	refused := runner.Refused(line.Analysis, &runner.RequestError{Err: line.Err}, r.program.Build.Version)
	fmt.Fprintf(r.program.Stderr, "scidex-oci: %s\n", screen.Escape(line.Err.Error()))
	if !r.human {
		_ = screen.WriteJSON(r.stdout, refused) // a patient writer does not fail
	}
}

// line tells what came of one.
func (r *batchReport) line(line batch.Line, o batch.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.human {
		if err := screen.WriteJSON(r.stdout, o.Result); err != nil {
			fmt.Fprintf(r.screen, "scidex-oci: result of line %d: %s\n", line.Number, screen.Escape(err.Error()))
		}
		return
	}
	_, _ = r.stdout.Write([]byte(r.sentence(o) + "\n"))
}

// sentence is the line for a person.
func (r *batchReport) sentence(o batch.Outcome) string {
	result := o.Result
	text := stateColour(r.palette, result.State, fmt.Sprintf("%-8s", result.State)) + "  " + runName(result)
	if result.StartedAt != nil {
		text += "  " + screen.Duration(result.Usage.WallMS)
	}
	if result.State == catalog.Complete {
		text += fmt.Sprintf("  %s", screen.Count(int(result.OutputsTotal), "output"))
	} else {
		text += "  " + screen.Escape(result.Message)
	}
	if o.Passed {
		text += "  (of an earlier batch)"
	}
	return text
}

// lost is why results could not be printed, or nil.
func (r *batchReport) lost() error {
	if err := r.stdout.Err(); err != nil {
		return fmt.Errorf("not all results could be printed: %w; they are in the catalog, see \"scidex-oci ls\"", err)
	}
	return nil
}

// summary is the last line on standard error. total is how many lines there are, -1 where nobody knows.
func (b *batchSession) summary(s batch.Summary, total int) string {
	took := b.progress.Elapsed()
	text := fmt.Sprintf("batch: %d complete, %d failed, %s", s.Complete, s.Failed, screen.Count(s.Errors, "error"))
	if s.Canceled > 0 {
		text += fmt.Sprintf(", %d canceled", s.Canceled)
	}
	if s.Passed > 0 {
		text += fmt.Sprintf(", %d of them of an earlier batch", s.Passed)
	}
	if ran := s.Done() - s.Passed; ran > 0 && took > 0 {
		text += fmt.Sprintf("; %s by %s, %s", screen.Duration(took.Milliseconds()), screen.Count(b.options.jobs, "job"), screen.Rate(float64(ran)/took.Seconds()))
	}
	return text + left(s, total)
}

// left tells what was not started, and why.
func left(s batch.Summary, total int) string {
	var why string
	switch {
	case s.Signal != nil:
		why = "ended by " + s.Signal.Name
	case s.Full:
		why = "enough have failed"
	case s.Err != nil:
		why = "not all could be read"
	default:
		return ""
	}
	switch n := total - s.Done(); {
	case total < 0:
		return "; " + why + ": what is still to come on standard input was not started"
	case n > 0:
		be := "were"
		if n == 1 {
			be = "was"
		}
		return fmt.Sprintf("; %s: %s %s not started, which --resume takes up", why, screen.Count(n, "line"), be)
	}
	return "; " + why
}

// exitOf is what one result makes of the exit code.
func exitOf(r result.Result) int {
	s := batch.Summary{}
	s.Add(batch.Outcome{Result: r})
	return batchExit(s)
}
