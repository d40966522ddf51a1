package format

import "strings"

// ShellQuote quotes text for a POSIX shell where it needs it.
func ShellQuote(text string) string {
	const safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%"
	if text != "" && strings.Trim(text, safe) == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
