package screen

import (
	"strings"
)

// ShellQuote quotes text for a POSIX shell where it needs it.
func ShellQuote(text string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if text != "" && strings.Trim(text, safe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// CommandLine is a command as a shell reads it, escaped for a terminal.
func CommandLine(words []string) string {
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, ShellQuote(word))
	}
	return Escape(strings.Join(quoted, " "))
}
