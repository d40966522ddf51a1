package command

import (
	"fmt"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/screen"
)

// Tell says what a command without output has done, to a person alone: nothing is printed where standard error is no terminal.
func (p *Program) Tell(format string, args ...any) {
	if screen.IsTerminal(p.Stderr) {
		fmt.Fprintf(p.Stderr, "scidex-oci: %s\n", screen.Escape(fmt.Sprintf(format, args...)))
	}
}
