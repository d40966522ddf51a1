package runflags

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// NewOptions makes the options of a request.
func NewOptions(p *command.Program) *options.Run {
	return &options.Run{Analysis: options.Analysis{Env: p.Env}}
}

// NewParser makes the parser of a command line whose options are loaded.
func NewParser(p *command.Program, c *cli.Context, o *options.Run) Parser {
	return Parser{global: p.Options, run: o, Words: c.Args().Slice(), stdin: p.Stdin, Dir: p.Options.Dir, env: p.Env}
}
