package command

import (
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// Args checks the number of a command's arguments; most is -1 for any number.
func Args(c *cli.Context, least, most int) ([]string, error) {
	given := c.Args().Slice()
	name := strings.TrimPrefix(c.Command.HelpName, c.App.HelpName+" ") // messages start with the name of the program
	if len(given) < least || most >= 0 && len(given) > most {
		what := "give " + c.Command.ArgsUsage
		if c.Command.ArgsUsage == "" {
			what = "it takes none"
		}
		if len(given) == 0 && strings.Trim(c.Command.ArgsUsage, ".") == "ID" && !strings.HasPrefix(name, "queue ") {
			what += ", such as @last"
		}
		return nil, Usagef("%s: %s; %s", name, format.Count(len(given), "argument", "arguments"), what)
	}
	if len(given) == 2 && given[1] == "@last" && strings.HasPrefix(c.Command.ArgsUsage, "ID ") {
		return nil, Usagef("%s: %s names a run, which comes first; give %s", name, given[1], c.Command.ArgsUsage)
	}
	return given, nil
}
