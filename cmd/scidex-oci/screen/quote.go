package screen

import (
	"strings"

	"github.com/scidex-ai/scidex-oci/outputs/format"
)

// CommandLine is a command as a shell reads it, escaped for a terminal.
func CommandLine(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, format.ShellQuote(word))
	}
	return Escape(strings.Join(quoted, " "))
}
