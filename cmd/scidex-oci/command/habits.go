package command

import (
	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/suggest"
)

// habits are what to type in place of commands of other programs.
var habits = map[string]string{
	"list": "ls", "ps": "ls", "inspect": "show", "kill": "stop", "pull": "image pull", "rmi": "image rm", "images": "image ls",
	"exec": "run --shell ID", "attach": "run --shell ID", "version": "--version",
}

// unknownCommand is the error of a word that is no command. It says what to type; top is whether it follows the program.
func unknownCommand(word string, commands []*cli.Command, top bool) error {
	if instead, known := habits[word]; known && top {
		return Usagef("unknown command %q; type \"scidex-oci %s\"", word, instead)
	}
	meant := suggest.DidYouMean(word, Names(commands), "")
	if meant == "" {
		meant = `; see "scidex-oci --help"`
	}
	return Usagef("unknown command %q%s", word, meant)
}
