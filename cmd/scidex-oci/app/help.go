package app

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/command"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/manual"
	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
	"github.com/scidex-ai/scidex-oci/spec"
)

// noTerminal is the width of help in columns if standard output is no terminal.
const noTerminal = 80

// helpPrinter prints help for the library, which calls it with an app or a command.
func helpPrinter(p *command.Program) func(w io.Writer, template string, about any) {
	return func(w io.Writer, _ string, about any) {
		var page manual.Page
		switch about := about.(type) {
		case *cli.App:
			page = mainPage(about)
			page.Commands = entries(about.Commands)
		case *cli.Command:
			page = commandPage(strings.Fields(about.HelpName)[1:], about)
		}
		fmt.Fprint(w, page.Help(columns(p.Stdout.File)))
	}
}

// columns is the width of a terminal.
func columns(f *os.File) int { return cmp.Or(screen.Width(f), noTerminal) }

// mainPage is the page of the program, without its commands.
func mainPage(app *cli.App) manual.Page {
	return manual.Page{
		Name: app.Name, Usage: app.Usage, Examples: manual.Examples()[""], Synopsis: lines(app.UsageText), Description: app.Description,
		Flags: manual.Grouped(app.Flags, nil), FlagsHeadline: "GLOBAL FLAGS",
	}
}

// commandPage is the page of the command that the words of path lead to.
func commandPage(path []string, c *cli.Command) manual.Page {
	return manual.Page{
		Name: "scidex-oci " + strings.Join(path, " "), Usage: c.Usage, Examples: manual.Examples()[strings.Join(path, " ")],
		Synopsis: lines(c.UsageText), Description: c.Description, Commands: entries(c.Subcommands),
		Flags: manual.Grouped(c.Flags, spec.Groups()), FlagsHeadline: "FLAGS",
	}
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }

func entries(commands []*cli.Command) []manual.Entry {
	var all []manual.Entry
	for _, c := range commands {
		if !c.Hidden {
			all = append(all, manual.Entry{Name: c.Name, Usage: c.Usage})
		}
	}
	return all
}
