package screen

import (
	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// CommandLine is a command as a shell reads it, escaped for a terminal.
func CommandLine(words []string) string { return Escape(format.ShellLine(words...)) }
