package hints

import "path"

// notOfSh is how dash and busybox fail at what only bash has.
var notOfSh = pattern(`(?m)^[^\n]*: (?:line )?\d+: ((?:\[\[|source|function|declare|typeset|shopt|let|pushd|popd|mapfile|readarray): not found|` +
	`(?:[Ss]yntax error: )?(?:[Bb]ad (?:function name|for loop variable|substitution)|redirection unexpected)|set: [Ii]llegal option -o pipefail)`)

// bashNeeded is for sh that was given the language of bash; it goes on after most of its errors, and may exit with 0.
func bashNeeded(f Facts) string {
	switch {
	case f.seen(notOfSh) == "":
		return ""
	case len(f.Ended.Command) == 0 || path.Base(f.Ended.Command[0]) != "sh":
		return "it was run by sh, and uses bash: run it with bash"
	case f.Ended.Analysis.Script == "":
		return "the command is run by sh, and uses bash: write bash instead of sh"
	}
	return "sh runs the script, and it uses bash: write #!/bin/bash in its first line"
}
