package mcp

import (
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci-net/mcp/access"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// notOfMCP are flags of run that apply to one run, and why mcp refuses them.
var notOfMCP = map[string]string{
	"id":        "it names one run; each call gets an id of its own",
	"file":      "each call says what it runs",
	"again":     "each call says what it runs",
	"script":    "each call brings its code",
	"stage":     "each call brings its files",
	"export":    "it is the place of one run; outputs are read by tools",
	"overwrite": "nothing is exported",
	"trace":     "it is of one run",
	"detach":    "runs end with their client",
	"events":    "they come as progress notifications",
	"json":      "all that is written is JSON",
	"quiet":     "nothing but messages is written to standard error; see --log-level",
}

// mcpOptions are the options of mcp: those of run, as defaults and bounds of all calls, and more.
type mcpOptions struct {
	run     *options.Run
	jobs    int    // 0: as memory and processors have room for
	http    string // the address; empty: standard input and output
	keyFile string // empty: a new key is printed
}

func (o *mcpOptions) flags(g *options.Global) []cli.Flag {
	flags := options.Hide(append(o.run.Flags(g), o.run.DetachFlag()), slices.Collect(maps.Keys(notOfMCP))...)
	options.Describe(flags, "data", "let analyses read the directory `DIR` at /data (default: none)")
	options.Describe(flags, "docs", "let analyses read the directory `DIR` at /docs (default: none)")
	return options.List(append(flags,
		options.String(&o.http, "http", "serve HTTP on `ADDRESS:PORT` of the loopback, such as 127.0.0.1:8765, until a signal (default: standard input and output)"),
		options.Path(&o.keyFile, "key-file", "take the key of HTTP requests from `FILE`, which only its owner can read; it is made if it is missing (default: a new key is written to standard error)"),
		options.Count(&o.jobs, "jobs", "run at most `N` analyses at once, whatever their limits (default: as many as memory and CPUs have room for by their limits together)", 1, "j"),
	)...)
}

// transport is how the client is reached. What is wrong with it is found before anything is opened.
func (o *mcpOptions) transport(p *command.Program) (transport, error) {
	if o.http == "" {
		if o.keyFile != "" {
			return nil, command.Usagef("mcp: --key-file is of --http; give --http 127.0.0.1:PORT too")
		}
		return stdio(p), nil
	}
	address, err := access.Loopback(o.http)
	if err != nil {
		return nil, command.Usagef("mcp: --http %q: %v", o.http, err)
	}
	return overHTTP(p, address, o.keyFile), nil
}
