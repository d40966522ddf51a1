package result

import (
	"encoding/json"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// ranMax bounds the text of Ran, in characters.
const ranMax = 120

// Ran is what a recorded request ran, on one line: the name of its script or its command, with the arguments, as a shell reads
// them. What does not print is escaped, and a long text ends with "…". It is empty for a request of another version.
func Ran(request json.RawMessage) string {
	var asked struct {
		Script        string
		Command, Args []string
	}
	if json.Unmarshal(request, &asked) != nil {
		return ""
	}
	words := asked.Command
	if asked.Script != "" {
		name := path.Base(asked.Script)
		if Unnamed(asked.Script) {
			name = "code"
		}
		words = append([]string{name}, asked.Args...)
	}
	return format.Cut(commandLine(words, ranMax), ranMax)
}

// Unnamed reports whether a script was given as text, so that a client has named its file: the Python client, or a model's.
func Unnamed(script string) bool {
	dir := path.Dir(script)
	given := func(dir string) bool { return strings.HasPrefix(path.Base(dir), "scidex-content-") }
	return path.Base(script) == "analysis.py" && given(dir) || strings.HasPrefix(path.Base(script), "code.") && given(path.Dir(dir))
}

// commandLine quotes words until they have more than most characters: arguments may be long, and only the start is shown.
func commandLine(words []string, most int) string {
	var line []string
	for length := 0; len(words) > 0 && length <= most; words = words[1:] {
		line = append(line, format.Escape(format.ShellQuote(format.Cut(words[0], most+1)), format.Visible))
		length += 1 + utf8.RuneCountInString(line[len(line)-1])
	}
	return strings.Join(line, " ")
}
