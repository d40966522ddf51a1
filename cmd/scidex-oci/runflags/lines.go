package runflags

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"time"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/runner"
	"github.com/scidex-ai/scidex-oci/runner/dispatch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/admission"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch/sweep"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/runner/request"
	"github.com/scidex-ai/scidex-oci/spec"
)

// Lines are the lines of a batch.
type Lines struct {
	Name   string // for messages
	from   io.Reader
	File   *os.File // nil if the lines can be read once only, or are those of a sweep
	sweep  *sweep.Sweep
	dir    string // relative paths start here
	parser Parser
	Under  spec.Analysis // the defaults of all lines, from the flags
	Close  func() error
}

// OpenLines opens the file of a batch, or standard input for "-". A file that cannot be read twice, such as a FIFO, is read
// as standard input is.
func OpenLines(k Parser, name string) (*Lines, error) {
	under, err := k.run.Over(spec.Analysis{})
	if err != nil {
		return nil, err
	}
	l := &Lines{Name: "standard input", from: k.stdin, dir: k.Dir, parser: k, Under: under, Close: func() error { return nil }}
	if name == "-" {
		return l, nil
	}
	path := options.Absolute(k.Dir, name)
	f, all, err := userfile.Open(path, userfile.WriterWait)
	if err != nil {
		return nil, inputs.Missing("batch", path, err)
	}
	l.Name, l.from, l.dir, l.Close = name, all, filepath.Dir(path), f.Close
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Mode().IsRegular() {
		l.File = f
	}
	return l, nil
}

// Caller is what hints need of this process.
func (l *Lines) Caller() request.Caller { return l.parser.Caller() }

// Source reads the lines, those of a file from its start. Sources of a file are independent. What can be read only once is not
// surveyed, so its source refuses repeated ids.
func (l *Lines) Source() batch.Source {
	if l.sweep != nil {
		return &sweepSource{lines: l}
	}
	if l.File != nil {
		return batch.NewReader(io.NewSectionReader(l.File, 0, math.MaxInt64), l.Name, l.parse)
	}
	return &batch.Distinct{Source: batch.NewReader(l.from, l.Name, l.parse), At: l.At}
}

// parse lays a line over the defaults.
func (l *Lines) parse(text []byte, number int) dispatch.Line {
	line := dispatch.Line{Number: number}
	own, err := spec.ParseLine(text, l.Name, number)
	if err != nil {
		line.Analysis, line.Err = own, err
		return line
	}
	line.Analysis, err = l.request(own)
	if err == nil {
		err = line.Analysis.Validate()
	}
	line.Err = l.At(number, err)
	return line
}

// At adds the number of a line to its error.
func (l *Lines) At(number int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", l.Name, number, err)
}

// Parse reads one request, which is no line of a file, and lays it over the defaults.
func (l *Lines) Parse(text []byte) (spec.Analysis, error) {
	own, err := spec.ParseObject(text)
	if err != nil {
		return own, err
	}
	a, err := l.request(own)
	return a, cmp.Or(err, a.Validate())
}

// request lays a line over the defaults. Its program replaces theirs; its arguments follow their script.
func (l *Lines) request(own spec.Analysis) (spec.Analysis, error) {
	under := l.Under
	switch {
	case len(own.Command) > 0:
		under.Script, under.Args = "", nil
	case own.Script != "":
		under.Args = nil
	}
	a := spec.Merge(under, own.ResolvePaths(l.dir))
	var err error
	a.Runtime, err = l.parser.global.Runtime(a.Runtime)
	return a, cmp.Or(err, l.parser.missingSecret(a))
}

// WithIDs gives each line of a source an id, so that one run can be stopped.
type WithIDs struct{ batch.Source }

// Next makes an id if a line has none.
func (n WithIDs) Next() (dispatch.Line, error) {
	line, err := n.Source.Next()
	if err != nil || line.Err != nil || line.Analysis.ID != "" {
		return line, err
	}
	line.Analysis.ID, err = NewID()
	return line, err
}

// NewID makes an id.
func NewID() (string, error) {
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	return spec.NewID(time.Now(), random), nil
}

// Gather reads all lines and gives each an id, and calls bad for each bad line and each that check refuses. The lines are of use if
// the survey has no bad one.
func (l *Lines) Gather(check func(spec.Analysis) error, bad func(dispatch.Line)) (lines []dispatch.Line, survey batch.Survey, err error) {
	survey, err = batch.Look(WithIDs{l.Source()}, func(line dispatch.Line) error {
		lines = append(lines, line)
		return check(line.Analysis)
	}, l.At, bad)
	return lines, survey, err
}

// Survey reads all lines of a file before the first is run, and calls bad for each bad line. If lines can be read only once,
// it knows only the defaults.
func (l *Lines) Survey(check func(dispatch.Line) error, bad func(dispatch.Line)) (batch.Survey, error) {
	switch {
	case l.sweep != nil:
		return l.surveySweep(check, bad)
	case l.File == nil:
		return batch.Survey{Lines: -1, Largest: admission.LimitsOf(l.Under)}, nil
	}
	return batch.Look(l.Source(), check, l.At, bad)
}

// TellBad tells the caller of bad lines, with --json as the results of refused analyses, too.
func TellBad(p *command.Program, json bool) func(dispatch.Line) {
	return func(line dispatch.Line) {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(line.Err.Error()))
		if json {
			_ = screen.WriteJSON(p.Stdout, runner.Refused(line.Analysis, &request.Error{Err: line.Err}, p.Build.Version))
		}
	}
}
