package app

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/serve"
)

const about = `Runs one analysis that has not been reviewed in a rootless OCI container: it reads data and docs, writes
only to its own directory, reaches no network and takes no more than its share of the machine. Its outputs
are harvested, committed to a catalog and a blob store, and everything else of it is gone.

Every flag has an environment variable, SCIDEX_OCI_ and its name in capitals with underscores
(--log-size is SCIDEX_OCI_LOG_SIZE; several values of a repeatable flag are separated by commas).
A variable that begins so and that nothing reads is named on standard error.
A flag wins over its variable, that over the manifest, that over the config file. In a batch the fields of a
line win over all of these.

A run is named by its ID (the last attempt), ID@1 (the first) or @last, and a unique prefix of the ID will do but for
rm, stop and run --again.
`

// newApp is the tree of commands.
func newApp(p *command.Program) *cli.App {
	p.Options = &options.Global{}
	var version bool
	app := &cli.App{
		Name:            "scidex-oci",
		HelpName:        "scidex-oci",
		Usage:           "run an analysis in a rootless container and keep what it made",
		UsageText:       "scidex-oci [global flags] COMMAND [flags] [ARG...]",
		Description:     about + "\n" + exitCodes,
		HideVersion:     true, // the flag below says more
		Flags:           options.List(p.Options.Flags()...),
		HideHelpCommand: true,
		Writer:          p.Stdout,
		ErrWriter:       p.Stderr,
		// Values are not split at commas: a value of --env may hold one.
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {}, // execute maps errors to exit codes
		Commands:                  allCommands(p),
	}
	app.Flags = append(app.Flags, cli.HelpFlag,
		&cli.BoolFlag{Name: "version", Aliases: []string{"v"}, Usage: "print the version and what it was built with", DisableDefaultText: true, Destination: &version})
	cli.HelpPrinter = helpPrinter(p)
	app.OnUsageError = usage
	app.Action = func(c *cli.Context) error {
		if version {
			return p.Build.Print(p.Stdout)
		}
		return cli.ShowAppHelp(c)
	}
	for _, command := range app.Commands {
		prepare(command)
	}
	return app
}

// allCommands are those of both programs, in the order of the help.
func allCommands(p *command.Program) []*cli.Command {
	all := []*cli.Command{
		newRunCommand(p), newNewCommand(p), newBatchCommand(p), serve.New(p),
		command.NetEntry("mcp", "let a model run analyses, by the Model Context Protocol"),
		command.NetEntry("submit", "put an analysis, or a batch of them, into the queue for workers"),
		command.NetEntry("worker", "take analyses from the queue and run them"),
		command.NetEntry("queue", "look at the queue of submit, cancel and retry what is in it, pause it"),
		newSlurmCommand(p), newSpecCommand(p), newListCommand(p), newStatsCommand(p), newShowCommand(p), newLogsCommand(p), newStopCommand(p),
		newOutputsCommand(p),
		command.NetEntry("table", "join one output of many runs into one table with their labels"),
		command.NetEntry("report", "write a page about a run that has ended: one HTML file for people"),
		command.NetEntry("ui", "show runs in a browser on this host, and what goes on"),
		newCrateCommand(p),
		command.NetEntry("verify", "verify the signed statement of a run, with all that it is about, or check a crate"),
		command.NetEntry("key", "make the key that signs statements of runs"),
		newReplayCommand(p), newPostProcessCommand(p), newRemoveCommand(p), newPinCommand(p), newUnpinCommand(p),
		command.NetEntry("docker", "run the analyses of a workflow engine that calls docker"),
		command.NetEntry("image", "pull, import, list and remove images of root filesystems"),
		newCatalogCommand(p), newConfigCommand(p), newGCCommand(p), newDoctorCommand(p),
		newSelftestCommand(p), newCanaryCommand(p), command.DecompressEntry(), command.ProxyEntry(), command.SignEntry(), command.ExportSpansEntry(), newCompletionCommand(p), newCompleteCommand(p), newDocsCommand(p),
	}
	if p.Net != nil {
		replace(all, p.Net(p))
	}
	return all
}

// replace puts commands where their entries are, also among those of a group.
func replace(all, net []*cli.Command) {
	for i, entry := range all {
		at := slices.IndexFunc(net, func(c *cli.Command) bool { return c.Name == entry.Name })
		switch {
		case at < 0:
		case len(entry.Subcommands) > 0:
			replace(entry.Subcommands, net[at].Subcommands)
		default:
			all[i] = net[at]
		}
	}
}

// prepare gives a command what all have.
func prepare(command *cli.Command) {
	command.HideHelpCommand = true // so that "help" can be the first word of an analysis
	command.OnUsageError = usage
	command.Flags = append(command.Flags, cli.HelpFlag)
	for _, below := range command.Subcommands {
		prepare(below)
	}
}

func usage(_ *cli.Context, err error, _ bool) error { return command.Usagef("%s", err) }
