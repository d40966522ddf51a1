package app

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/userfile"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/runner/inputs"
	"github.com/scidex-ai/scidex-oci/spec"
)

// standardOutput is the name of standard output as a file.
const standardOutput = "-"

// newNewCommand makes the command new, which writes the manifest of a script.
func newNewCommand(p *command.Program) *cli.Command {
	o := &newOptions{}
	return &cli.Command{
		Name:      "new",
		Usage:     "write a commented manifest for a script",
		UsageText: "scidex-oci new SCRIPT [--out FILE] [--overwrite]",
		ArgsUsage: "SCRIPT",
		Description: `The manifest can be run as it is. It names every field, with its default or an example, for you to change. A
script is a .py, .R, .jl, .sh or .ipynb file, or begins with a line such as #!/usr/bin/env python3.`,
		Flags: o.flags(),
		Action: func(c *cli.Context) error {
			given, err := command.Args(c, 1, 1)
			if err != nil {
				return err
			}
			if err := p.Load(c); err != nil {
				return err
			}
			return writeNew(p, *o, given[0])
		},
	}
}

// newOptions are the options of new.
type newOptions struct {
	out       options.Text
	overwrite bool
}

func (o *newOptions) flags() []cli.Flag {
	return options.List(
		options.Given(&o.out, "out", "write to `FILE`; - is standard output (default: analysis.yaml)", "o"),
		options.Bool(&o.overwrite, "overwrite", "replace FILE if it exists"),
	)
}

func writeNew(p *command.Program, o newOptions, script string) error {
	if err := checkScript(options.Absolute(p.Options.Dir, script)); err != nil {
		return err
	}
	name := o.out.Or("analysis.yaml")
	if name == standardOutput {
		return writeManifest(p.Stdout, script, p.CallLine()+" run -f FILE")
	}
	call := p.CallLine() + " run -f " + screen.Escape(format.ShellQuote(name))
	path := options.Absolute(p.Options.Dir, name)
	script, err := seenFrom(filepath.Dir(path), p.Options.Dir, script)
	if err != nil {
		return err
	}
	to, err := userfile.Create(path, o.overwrite, 0o666)
	if err != nil {
		return err
	}
	if err := to.Put(func(w io.Writer) error { return writeManifest(w, script, call) }); err != nil {
		return fmt.Errorf("the manifest is not written: %w", err)
	}
	fmt.Fprintf(p.Stderr, "scidex-oci: wrote %s; run it with: %s\n", screen.Escape(name), call)
	return nil
}

// seenFrom is the path of a script as seen from the directory of its manifest.
func seenFrom(dir, here, script string) (string, error) {
	if filepath.IsAbs(script) {
		return script, nil
	}
	return filepath.Rel(dir, filepath.Join(here, script))
}

// checkScript refuses a script that run would refuse.
func checkScript(path string) error {
	f, all, err := userfile.Open(path, userfile.WriterWait)
	if err != nil {
		return inputs.Missing("script", path, err)
	}
	defer f.Close()
	line, err := spec.FirstLine(all)
	if err != nil {
		return fmt.Errorf("script: %w", err)
	}
	_, err = spec.Interpreter(path, line)
	return err
}
