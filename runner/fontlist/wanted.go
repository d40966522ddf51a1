package fontlist

import (
	"io"
	"path"
	"regexp"

	"github.com/scidex-ai/scidex-oci/spec"
)

// plots finds what imports matplotlib in a script or notebook. What it misses makes its own list, as before.
var plots = regexp.MustCompile(`\b(?:matplotlib|pylab|seaborn|plotnine)\b`)

// maxScript is how much of a script is searched, in bytes.
const maxScript = 1 << 20

// Wanted reports whether a script that command runs seems to plot with matplotlib, whose cache directory is ours.
func Wanted(a spec.Analysis, command []string, script io.ReaderAt) bool {
	if _, own := a.Env["MPLCONFIGDIR"]; own || Interpreter(command) == "" {
		return false
	}
	text, err := io.ReadAll(io.NewSectionReader(script, 0, maxScript))
	return err == nil && plots.Match(text)
}

var python = regexp.MustCompile(`^python[0-9.]*$`)

// Interpreter is the Python that command starts with; empty: another program.
func Interpreter(command []string) string {
	if len(command) > 1 && path.Base(command[0]) == "env" {
		command = command[1:]
	}
	if len(command) == 0 || !python.MatchString(path.Base(command[0])) {
		return ""
	}
	return command[0]
}
