package results

import (
	"fmt"
	"sync"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/outputs/outcome"
	"github.com/scidex-ai/scidex-oci/outputs/result"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Lines prints results as lines: of JSON, or of text for a person if standard output is a terminal.
type Lines struct {
	mu       sync.Mutex
	program  *command.Program
	terminal *screen.Terminal
	stdout   *screen.LenientWriter
	human    bool
	shown    int            // lines for a person
	named    bool           // standard error names what is not complete, if standard output has JSON
	palette  screen.Palette // of standard output
	errors   screen.Palette // of standard error
}

// NewLines makes the lines on standard output. With json they are JSON on a terminal too.
func NewLines(p *command.Program, terminal *screen.Terminal, json bool) *Lines {
	r := &Lines{
		program: p, terminal: terminal, named: screen.IsTerminal(p.Stderr), stdout: screen.NewLenientWriter(p.Stdout.File),
		palette: screen.NewPalette(p.Stdout.File, p.Env), errors: screen.NewPalette(p.Stderr, p.Env),
	}
	if screen.IsTerminal(p.Stdout.File) {
		r.stdout = screen.NewLenientWriter(terminal.Writer(p.Stdout.File))
		r.human = !json
	}
	return r
}

// NameFailures says whether standard error names each run that is not complete, if standard output has JSON. By default it
// does so on a terminal.
func (r *Lines) NameFailures(named bool) { r.named = named }

// Bad prints why a line is refused. The batch then runs nothing.
func (r *Lines) Bad(number int, a spec.Analysis, err error) {
	refused := runner.Refused(a, &request.Error{Err: err}, r.program.Build.Version)
	refused.Line = number
	fmt.Fprintf(r.program.Stderr, "scidex-oci: %s\n", screen.Escape(err.Error()))
	if !r.human {
		_ = screen.WriteJSON(r.stdout, refused) // a LenientWriter does not fail
	}
}

// Print prints the result of the line of that number, which may be of an earlier batch.
func (r *Lines) Print(number int, res result.Result, earlier bool) {
	r.PrintJSON(number, res)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.human && (!r.named || res.State == outcome.Complete) {
		return
	}
	r.shown++
	if r.human {
		_, _ = r.stdout.Write([]byte(sentence(r.palette, res, earlier) + "\n"))
		return
	}
	fmt.Fprintln(r.terminal, sentence(r.errors, res, earlier))
}

// Shown is how many lines for a person were printed.
func (r *Lines) Shown() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.shown
}

// PrintJSON is Print without a line for a person.
func (r *Lines) PrintJSON(number int, res result.Result) {
	if r.human {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	res.Line = number
	if err := screen.WriteJSON(r.stdout, res); err != nil {
		fmt.Fprintf(r.terminal, "scidex-oci: result of line %d: %s\n", number, screen.Escape(err.Error()))
	}
}

// sentence is the line for a person.
func sentence(palette screen.Palette, result result.Result, earlier bool) string {
	text := stateColour(palette, result.State, fmt.Sprintf("%-8s", result.State)) + "  " + runName(result)
	if result.Measured() {
		text += "  " + format.Duration(result.Usage.WallMS)
	}
	if result.State == outcome.Complete {
		text += fmt.Sprintf("  %s", format.Count(result.OutputsTotal, "output", "outputs"))
	} else {
		text += "  " + screen.Escape(result.Message)
	}
	if earlier {
		text += "  (of an earlier batch)"
	}
	for _, hint := range result.Hints {
		text += "\n          hint: " + screen.Escape(hint.Message)
	}
	return text
}

// Err is why not all results could be printed, or nil.
func (r *Lines) Err() error {
	if err := r.stdout.Err(); err != nil {
		return fmt.Errorf("not all results could be printed: %w; they are in the catalog, see \"scidex-oci ls\"", err)
	}
	return nil
}
