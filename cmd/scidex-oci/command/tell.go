package command

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

// Tell says what a command without output has done, to a person only: nothing is printed if standard error is no terminal.
func (p *Program) Tell(format string, args ...any) {
	if screen.IsTerminal(p.Stderr) {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(fmt.Sprintf(format, args...)))
	}
}
