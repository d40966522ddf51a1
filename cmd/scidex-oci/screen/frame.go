package screen

import (
	"os"
	"strings"
)

// Frame is text drawn from the top left of a terminal, which erases what was there (ECMA-48 CUP, EL, ED). Lines and
// columns that do not fit are cut.
func Frame(text string, terminal *os.File) string {
	width, height := size(terminal)
	if height < 2 {
		width, height = 80, 24
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	var b strings.Builder
	b.WriteString("\x1b[H")
	for _, line := range lines[:min(len(lines), height-1)] {
		b.WriteString(cut(line, width) + "\x1b[K\r\n")
	}
	b.WriteString("\x1b[J")
	return b.String()
}
