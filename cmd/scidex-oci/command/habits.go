package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/suggest"
)

// habits are what to type in place of commands of other programs.
var habits = map[string]string{
	"list": "ls", "ps": "ls", "inspect": "show", "kill": "stop", "pull": "image pull", "rmi": "image rm", "images": "image ls",
	"exec": "run --shell ID", "attach": "run --shell ID", "version": "--version",
}

// unknownCommand is the error of a word that is no command. It says what to type; after are the commands before it.
func unknownCommand(word string, commands []*cli.Command, after []string) error {
	if instead, known := habits[word]; known && len(after) == 0 {
		return Usagef("unknown command %q; type \"scidex-oci %s\"", word, instead)
	}
	if slices.Equal(after, []string{"config"}) && slices.Contains([]string{"list", "ls", "show", "edit"}, word) {
		return Usagef("unknown command %q; all settings are in the file that \"scidex-oci config path\" prints, and \"scidex-oci config get KEY\" prints one", word)
	}
	meant := suggest.DidYouMean(word, Names(commands), "")
	switch {
	case meant == "" && len(after) > 0:
		meant = fmt.Sprintf("; %s takes %s", strings.Join(after, " "), suggest.List(Names(commands)))
	case meant == "":
		meant = `; see "scidex-oci --help"`
	}
	return Usagef("unknown command %q%s", word, meant)
}
