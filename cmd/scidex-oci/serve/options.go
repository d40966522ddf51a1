package serve

import (
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// notOfServe are flags of run that apply to one run, and why serve refuses them.
var notOfServe = map[string]string{
	"id":     `it names one run; give each request its own "id"`,
	"file":   "the fields of a manifest are the parameters of a request",
	"again":  "each request says what it runs",
	"export": `it is the place of one run; give each request its own "export"`,
	"trace":  "it is of one run",
	"detach": `give it in a request: "detached": true`,
	"events": `they come as notifications; give "events": true in a request`,
	"json":   "all that is written is JSON",
	"quiet":  "nothing but messages is written to standard error; see --log-level",
}

// serveOptions are the options of serve: those of run, as defaults for all requests, and more.
type serveOptions struct {
	run   *options.Run
	jobs  int // 0: as memory and processors have room for
	stdio bool
	path  string // of the socket
}

func (o *serveOptions) flags(g *options.Global) []cli.Flag {
	flags := options.Hide(append(o.run.Flags(g), o.run.DetachFlag()), slices.Collect(maps.Keys(notOfServe))...)
	options.Describe(flags, "overwrite", "let the \"export\" of a request write into a directory that is not empty")
	return options.List(append(flags,
		options.Bool(&o.stdio, "stdio", "read requests from standard input and write answers to standard output, until end-of-file"),
		options.Path(&o.path, "socket", "listen on the socket `PATH`, only for programs of your own uid, until a signal; removed at the end"),
		options.Count(&o.jobs, "jobs", "run at most `N` analyses at once, whatever their limits (default: as many as memory and CPUs have room for by their limits together)", 1, "j"),
	)...)
}
