package main

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

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/runner/dispatch/batch"
	"github.com/scidex-ai/scidex-oci/spec"
)

// lines is where the lines of a batch come from.
type lines struct {
	name   string // for messages
	from   io.Reader
	file   *os.File // nil where the lines can be read only once
	dir    string   // relative paths start here
	parser requestParser
	under  spec.Analysis // what the flags say for all lines
	close  func() error
}

// openLines opens the file of a batch, or standard input for "-". What cannot be read twice, such as a FIFO, is like
// standard input.
func openLines(k requestParser, name string) (*lines, error) {
	under, err := k.run.Over(spec.Analysis{})
	if err != nil {
		return nil, err
	}
	l := &lines{name: "standard input", from: k.stdin, dir: k.dir, parser: k, under: under, close: func() error { return nil }}
	if name == "-" {
		return l, nil
	}
	path := options.Absolute(k.dir, name)
	f, all, err := userfile.Open(path, userfile.WriterWait)
	if err != nil {
		return nil, fmt.Errorf("batch: %w; give a file of JSON lines, or - for standard input", err)
	}
	l.name, l.from, l.dir, l.close = name, all, filepath.Dir(path), f.Close
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if info.Mode().IsRegular() {
		l.file = f
	}
	return l, nil
}

// source reads the lines, of a file from its start, also while another source of it is read.
func (l *lines) source() batch.Source {
	from := l.from
	if l.file != nil {
		from = io.NewSectionReader(l.file, 0, math.MaxInt64)
	}
	return batch.NewReader(from, l.name, l.parse)
}

// parse makes a request of a line: what it says goes over what the flags say.
func (l *lines) parse(text []byte, number int) batch.Line {
	line := batch.Line{Number: number}
	own, err := spec.ParseLine(text, l.name, number)
	if err != nil {
		line.Err = err
		return line
	}
	line.Analysis, err = l.request(own)
	if err == nil {
		err = line.Analysis.Validate()
	}
	line.Err = l.at(number, err)
	return line
}

// at says in which line a request is refused.
func (l *lines) at(number int, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s:%d: %w", l.name, number, err)
}

// request lays a line over the defaults. A program of its own takes the place of theirs, arguments of its own follow
// their script.
func (l *lines) request(own spec.Analysis) (spec.Analysis, error) {
	under := l.under
	switch {
	case len(own.Command) > 0:
		under.Script, under.Args = "", nil
	case own.Script != "":
		under.Args = nil
	}
	a := options.Merge(under, own.ResolvePaths(l.dir))
	var err error
	a.Runtime, err = l.parser.global.Runtime(a.Runtime)
	return a, cmp.Or(err, l.parser.missingSecret(a))
}

// named is a source whose lines all have an id, so that whoever asks for the end of one run can be told.
type named struct{ batch.Source }

// Next makes an id where a line has none.
func (n named) Next() (batch.Line, error) {
	line, err := n.Source.Next()
	if err != nil || line.Err != nil || line.Analysis.ID != "" {
		return line, err
	}
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return line, err
	}
	line.Analysis.ID = spec.NewID(time.Now(), random)
	return line, nil
}

// gather reads all lines, for a command that begins with none before it has seen the last, and gives each an id. check may
// refuse one; bad is told of each that is refused, and their number is returned.
func (l *lines) gather(check func(spec.Analysis) error, bad func(batch.Line)) (good []batch.Line, refused int, err error) {
	seen := map[string]int{}
	for source := (named{l.source()}); ; {
		line, err := source.Next()
		if errors.Is(err, io.EOF) {
			return good, refused, nil
		}
		if err != nil {
			return good, refused, err
		}
		if first, twice := seen[line.Analysis.ID]; line.Err == nil && twice {
			line.Err = l.at(line.Number, fmt.Errorf("id %q is that of line %d already; give each line an id of its own", line.Analysis.ID, first))
		}
		if line.Err == nil {
			line.Err = l.at(line.Number, check(line.Analysis))
		}
		if line.Err != nil {
			refused++
			bad(line)
			continue
		}
		seen[line.Analysis.ID] = line.Number
		good = append(good, line)
	}
}

// survey looks at all lines of a file before the first is run, and tells of each that is bad. There is none of what can
// be read only once.
func (l *lines) survey(check func(batch.Line) error, bad func(batch.Line)) (batch.Survey, error) {
	if l.file == nil {
		a := l.under.WithDefaults()
		return batch.Survey{Lines: -1, Memory: int64(a.Memory), CPUs: a.CPUs}, nil
	}
	return batch.Look(l.source(), check, l.at, bad)
}
