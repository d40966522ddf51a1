package hints

import "path"

var (
	// notOfSh is how dash and busybox fail at what only bash has.
	notOfSh = pattern(`(?m)^[^\n]*: (?:line )?\d+: ((?:\[\[|source|function|declare|typeset|shopt|let|pushd|popd|mapfile|readarray): not found|` +
		`(?:[Ss]yntax error: )?(?:[Bb]ad (?:function name|for loop variable|substitution)|redirection unexpected)|set: [Ii]llegal option -o pipefail)`)
	// openParenthesis is how they fail at an array of bash, and at much else.
	openParenthesis = pattern(`(?m)^[^\n]*: (Syntax error: "\(" unexpected|syntax error: unexpected "\(")`)
)

// bashNeeded is for sh that was given the language of bash; it goes on after most of its errors, and may exit with 0.
func bashNeeded(f Facts) string {
	uses := ", and uses bash: "
	if f.seen(notOfSh) == "" {
		if f.seen(openParenthesis) == "" {
			return ""
		}
		uses = ": if it is written for bash, "
	}
	switch {
	case len(f.Ended.Command) == 0 || path.Base(f.Ended.Command[0]) != "sh":
		return "it was run by sh" + uses + "run it with bash"
	case f.Ended.Analysis.Script == "":
		return "the command is run by sh" + uses + "write bash instead of sh"
	}
	return "the script is run by sh" + uses + "write #!/bin/bash in its first line"
}
