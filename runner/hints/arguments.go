package hints

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/outputs/result"
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
	got := "no arguments"
	if n := int64(len(a.Args)); n > 0 {
		got = "only " + result.Count(n, "argument", "arguments")
	}
	return fmt.Sprintf("the script got %s: put them after --, as in --script FILE -- ARG (args: [ARG] in a manifest)", got)
}
