package hints

import (
	"fmt"
	"strconv"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

var (
	// noArgument is how argparse and click say that they got too few arguments.
	noArgument = pattern(`(?m)(^[^\n]+: error: the following arguments are required:|^Error: Missing argument )`)
	// argument is the number of the argument at which Python, a shell or R failed.
	argument = pattern(`(?m)(?:\bargv\[(\d+)\].*\n(?:[ \t~^]+\n)*IndexError: list index out of range|` +
		`^[^\n]*: (?:line )?\d+: \$?(\d): (?:unbound variable|parameter not set|parameter null or not set)|^Error in [\w.]*[aA]rgs\[\[(\d+)\]\] : subscript out of bounds)`)
)

// argumentsMissing says where the arguments of a script go.
func argumentsMissing(f Facts) string {
	a := f.Ended.Analysis
	number, _ := strconv.Atoi(f.find(argument)) // 0: none
	if f.find(noArgument) == "" && (a.Script == "" || number <= len(a.Args)) {
		return ""
	}
	if a.Script == "" {
		return "the program lacks arguments: add them at the end of the command, after --"
	}
	if len(a.Args) == 0 {
		return "the script got no arguments: put them after --, as in --script FILE -- ARG (args: [ARG] in a manifest)"
	}
	noun := "argument"
	if len(a.Args) > 1 {
		noun = "arguments"
	}
	return fmt.Sprintf("the script got only the %s %s, and wants more: add them at the end", noun, format.Line(format.ShellLine(a.Args...), 200))
}
