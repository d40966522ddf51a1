package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// traceFile is the file of --trace, and what to write there at the end; nil: nothing is traced.
type traceFile struct {
	path   string // empty: the trace is for spans alone
	tracer *trace.Tracer
	main   int64 // when this program began to read the command line; 0: it has read it
}

// newTrace reads the option and starts a trace where it is given, or spans are asked for. It refuses a file that could not be made at the end.
func newTrace(given options.Text, spans bool, began, main int64) (*traceFile, error) {
	f := &traceFile{tracer: &trace.Tracer{}, main: main}
	f.tracer.Add(trace.Span{Lane: trace.Run, Name: "start of the process", Start: began, End: main})
	switch {
	case given.Given:
		return f, f.setPath(given)
	case spans:
		return f, nil
	}
	return nil, nil // it is not asked for
}

// setPath sets the file.
func (f *traceFile) setPath(given options.Text) error {
	text := given.Value
	switch {
	case text == "":
		return given.Refuse("is empty; give a file, or leave it out")
	case text == "-", strings.HasPrefix(text, "fd:"):
		return given.Refuse("a trace is written to a file alone; give its name, ./%s where it is called that", text)
	}
	path := given.Path("")
	if why := possible(path); why != nil {
		return given.Refuse("%w; give a file that can be written to", why)
	}
	f.path = path
	return nil
}

// possible tries to create a file there, and removes it. What is no regular file is not replaced.
func possible(path string) error {
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return cause(err)
	}
	beside, err := beside(path)
	if err != nil {
		return cause(err)
	}
	return errors.Join(beside.Close(), os.Remove(beside.Name()))
}

// beside makes a temporary file that can be renamed to path.
func beside(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), ".scidex-oci-trace-*")
}

// cause is an error of the file system without the name, which the message already has.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// with gives a context the tracer.
func (f *traceFile) with(ctx context.Context) context.Context {
	if f == nil {
		return ctx
	}
	return trace.With(ctx, f.tracer)
}

// read notes that the request is known, or never will be.
func (f *traceFile) read() {
	if f == nil || f.main == 0 {
		return
	}
	f.tracer.Add(trace.Span{Lane: trace.Run, Name: "read the command line", Start: f.main, End: trace.Now()})
	f.main = 0
}

// span starts a phase of the command.
func (f *traceFile) span(name string) (end func()) {
	if f == nil {
		return func() {}
	}
	return f.tracer.Span(trace.Run, name)
}

// write writes the trace atomically.
func (f *traceFile) write(about map[string]string) error {
	if f == nil {
		return nil
	}
	f.read()
	if f.path == "" {
		return nil
	}
	file, err := beside(f.path)
	if err != nil {
		return fmt.Errorf("the trace is not written: %w", err)
	}
	err = errors.Join(f.tracer.Write(file, about), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), f.path)
	}
	if err != nil {
		return fmt.Errorf("the trace is not written: %w", errors.Join(err, os.Remove(file.Name())))
	}
	return nil
}
