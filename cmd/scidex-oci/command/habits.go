package command

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/scidex-ai/scidex-oci/internal/suggest"
	"github.com/scidex-ai/scidex-oci/internal/userdir"
	"github.com/scidex-ai/scidex-oci/outputs/format"
	"github.com/scidex-ai/scidex-oci/spec"
)

// habits are what to type instead of commands of other programs.
var habits = map[string]string{
	"status": `ls" or "scidex-oci show ID`,
	"list":   "ls", "ps": "ls", "inspect": "show", "kill": "stop", "pull": "image pull", "rmi": "image rm", "images": "image ls",
	"cp": "outputs export", "export": "outputs export", "import": "image import", "create": "new", "top": "ls",
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
	if word == "build" && len(after) == 0 {
		return Usagef(`unknown command "build"; scripts/build-rootfs builds a root filesystem, "scidex-oci image import" and "scidex-oci image pull" get images`)
	}
	if len(after) == 0 && isScript(word) {
		return Usagef("unknown command %q; type \"scidex-oci run --script %s\"", word, format.ShellQuote(word))
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

// isScript reports whether a word names a script: by its extension, or as a file that begins with a shebang.
func isScript(word string) bool {
	if spec.HasInterpreter(word) {
		return true
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := userdir.ReadAny(word)
	if err != nil {
		return false
	}
	defer f.Close()
	begin := make([]byte, 2)
	_, err = f.ReadAt(begin, 0)
	return err == nil && string(begin) == "#!"
}
