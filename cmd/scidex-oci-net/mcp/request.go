package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/runflags"
	"github.com/scidex-ai/scidex-oci/spec"
)

// runInput is what a model asks run_code for.
type runInput struct {
	Code     string            `json:"code,omitempty" jsonschema:"a script; give code or command"`
	Language string            `json:"language,omitempty" jsonschema:"python (default), r, julia, shell or bash; a first line #!/… says what else runs the code"`
	Command  []string          `json:"command,omitempty" jsonschema:"a program and its arguments"`
	Args     []string          `json:"args,omitempty" jsonschema:"of the code"`
	Files    []file            `json:"files,omitempty" jsonschema:"that are in /work at the start"`
	Inputs   []string          `json:"inputs,omitempty" jsonschema:"read-only at /inputs/NAME: names below /data, which is then not there itself, or outputs of runs, by uri or as sha256:DIGEST:NAME"`
	Outputs  []string          `json:"outputs,omitempty" jsonschema:"globs; the run fails if one matches no output"`
	Labels   map[string]string `json:"labels,omitempty" jsonschema:"list_runs finds the run by them"`
	Limits   limits            `json:"limits,omitzero" jsonschema:"at most the operator's, which are the defaults; get_environment has them"`
	Timeout  string            `json:"timeout,omitempty" jsonschema:"such as 90s or 10m; a limit too"`
	Wait     *float64          `json:"wait,omitempty" jsonschema:"seconds to wait for the end, 0 to 3600; then the run goes on, and wait_run waits for it (default: up to its end)"`
}

// analysis is the request of a call. What it brings is in files until remove is called. Nothing of it but names below the
// operator's data becomes a path of the host.
func (t *tools) analysis(ctx context.Context, in runInput) (a spec.Analysis, remove func(), err error) {
	dir, err := os.MkdirTemp(t.scratch, "")
	if err != nil {
		return a, nil, errors.New("this server has no place for the files of a call")
	}
	remove = func() { _ = os.RemoveAll(dir) } // else with the rest
	own, err := t.own(ctx, in, dir)
	if err == nil {
		a, err = t.over(own)
	}
	if err != nil {
		remove()
		return a, nil, err
	}
	return a, remove, nil
}

// own are the parts of an analysis that a call has.
func (t *tools) own(ctx context.Context, in runInput, dir string) (own spec.Analysis, err error) {
	if err := checkProgram(in); err != nil {
		return own, err
	}
	if t.bounds.Project != "" && len(in.Command) == 0 {
		return own, errors.New(`the operator shares a project, and then a call takes no code: give command, such as ["python3", "-c", "…"]; the project is in /analysis`)
	}
	own = spec.Analysis{Command: in.Command, Args: in.Args, Outputs: in.Outputs, Labels: in.Labels}
	ofData := false
	if own.Inputs, ofData, err = t.inputs(ctx, in.Inputs); err != nil {
		return own, err
	}
	if ofData {
		own.Data = spec.None
	}
	if err := in.Limits.read(&own, in.Timeout); err != nil {
		return own, err
	}
	if err := checkFiles(in.Files); err != nil {
		return own, err
	}
	if len(in.Files) > 0 {
		own.Stage = filepath.Join(dir, "files")
		if err := writeFiles(own.Stage, in.Files); err != nil {
			return own, err
		}
	}
	if len(in.Command) == 0 {
		own.Script, err = writeCode(dir, in.language(), in.Code)
	}
	return own, err
}

func (in runInput) language() string {
	if in.Language == "" {
		return "python"
	}
	return in.Language
}

// checkProgram checks that a call has one thing to run.
func checkProgram(in runInput) error {
	switch {
	case in.Code == "" && len(in.Command) == 0:
		return errors.New("there is nothing to run: give code, or command")
	case in.Code != "" && len(in.Command) > 0:
		return errors.New("code and command are two things to run; give one of them")
	case len(in.Command) > 0 && (len(in.Args) > 0 || in.Language != ""):
		return errors.New("args and language are of code; a command has its arguments in itself")
	}
	err := known("language", []string{in.language()}, slices.Sorted(maps.Keys(extensions)))
	if err != nil && !strings.HasSuffix(err.Error(), "?") {
		return fmt.Errorf("%w, or leave it out and begin the code with a line such as #!/usr/bin/env perl", err)
	}
	return err
}

// over lays a call over the operator's flags, which bound it.
func (t *tools) over(own spec.Analysis) (a spec.Analysis, err error) {
	text, err := json.Marshal(own)
	if err != nil {
		return a, err
	}
	if a, err = t.Lines.Parse(text); err != nil {
		return a, err
	}
	if err := within(a.WithDefaults(), t.bounds); err != nil {
		return a, err
	}
	a.ID, err = runflags.NewID()
	return a, err
}
