package app

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/runner/observe/trace"
)

// traceFile is the file of --trace, and what to write there at the end; nil: nothing is traced.
type traceFile struct {
	file   *userfile.NewFile // nil: the trace is only for spans
	tracer *trace.Tracer
	main   int64 // when this program began to read the command line; 0: it has read it
}

// newTrace reads the option and starts a trace if it is given, or spans are asked for. It refuses a file that could not be made at the end.
func newTrace(given options.Text, spans bool, began, main int64) (*traceFile, error) {
	f := &traceFile{tracer: &trace.Tracer{}, main: main}
	f.tracer.Add(trace.Span{Lane: trace.Run, Name: "start of the process", Start: began, End: main})
	switch {
	case given.Given:
		return f, f.setFile(given)
	case spans:
		return f, nil
	}
	return nil, nil // it is not asked for
}

// setFile opens the directory of the file.
func (f *traceFile) setFile(given options.Text) error {
	text := given.Value
	switch {
	case text == "":
		return given.Refuse("is empty; give a file, or leave it out")
	case text == "-", strings.HasPrefix(text, "fd:"):
		return given.Refuse("a trace is written only to a file; give its name, ./%s if it is called that", text)
	}
	file, why := userfile.Create(given.Path(""), true, 0o600)
	if why != nil {
		return given.Refuse("%w", why)
	}
	f.file = file
	return nil
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
	if f.file == nil {
		return nil
	}
	if err := f.file.Put(func(to io.Writer) error { return f.tracer.Write(to, about) }); err != nil {
		return fmt.Errorf("the trace is not written: %w", err)
	}
	return nil
}
