package hints

import (
	"fmt"
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// noArgument is how programs of Python, argparse, click, shells and R say that they got too few arguments.
var noArgument = pattern(`(?m)(\bargv\b.*\n(?:[ \t~^]+\n)*IndexError: list index out of range|^[^\n]+: error: the following arguments are required:|^Error: Missing argument |` +
	`^[^\n]*: (?:line )?\d+: \$?\d: (?:unbound variable|parameter not set|parameter null or not set)|^Error in [\w.]*[aA]rgs\[\[\d+\]\] : subscript out of bounds)`)

// argumentsMissing says where the arguments of a script go.
func argumentsMissing(f Facts) string {
	if f.find(noArgument) == "" {
		return ""
	}
	a := f.Ended.Analysis
	if a.Script == "" {
		return "the program lacks arguments: add them at the end of the command, after --"
	}
	if len(a.Args) == 0 {
		return "the script got no arguments: put them after --, as in --script FILE -- ARG (args: [ARG] in a manifest)"
	}
	noun, got := "argument", make([]string, len(a.Args))
	if len(a.Args) > 1 {
		noun = "arguments"
	}
	for i, arg := range a.Args {
		got[i] = format.ShellQuote(arg)
	}
	return fmt.Sprintf("the script got only the %s %s, and wants more: add them at the end", noun, format.Line(strings.Join(got, " "), 200))
}
