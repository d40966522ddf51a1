package hints

import (
	"path"
	"strings"
)

var (
	// notOfSh is how dash and busybox fail at what only bash has.
	notOfSh = pattern(`(?m)^[^\n]*: (?:line )?\d+: ((?:\[\[|source|function|declare|typeset|shopt|let|pushd|popd|mapfile|readarray): not found|` +
		`(?:[Ss]yntax error: )?(?:[Bb]ad (?:function name|for loop variable|substitution)|redirection unexpected)|set: [Ii]llegal option -o pipefail)`)
	// unexpected is also what a slip looks like: only with bashParens in the source is it a sign of bash.
	unexpected = pattern(`(?m)^[^\n]*: (?:line )?\d+: ([Ss]yntax error: (?:unexpected )?"\(")`)
	bashParens = pattern(`(?m)\w\+?=\(|[<>]\(|^\s*function\s`)
)

// bashNeeded is for sh that was given the language of bash; it goes on after most of its errors, and may exit with 0.
func bashNeeded(f Facts) string {
	if f.seen(notOfSh) == "" && (f.seen(unexpected) == "" || !bashParens().MatchString(f.source())) {
		return ""
	}
	a, sh := f.Ended.Analysis, len(f.Ended.Command) > 0 && path.Base(f.Ended.Command[0]) == "sh"
	switch {
	case !sh:
		return "it was run by sh, and uses bash: run it with bash"
	case a.Script == "":
		return "the command is run by sh, and uses bash: write bash in place of sh"
	case strings.HasPrefix(f.source(), "#!"):
		return "the first line of the script says that sh runs it, and it uses bash: write #!/bin/bash there"
	}
	return "a .sh script without a first line that starts with #! is run by sh, and this one uses bash: write #!/bin/bash in its first line"
}
