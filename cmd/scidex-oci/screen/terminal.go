// Package screen has what commands print with: escaping, tables, colours, units, JSON lines, and the status and streams of a
// terminal.
package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/scidex-ai/scidex-oci/cmd/scidex-oci/options"
)

// eraseLine returns the cursor to the first column and erases the line (ECMA-48 EL), eraseBelow what comes after it too
// (ED).
const (
	eraseLine  = "\r\x1b[K"
	eraseBelow = "\r\x1b[J"
)

// Terminal is standard error, which may be a terminal. There it keeps the analysis' output, our own lines and a status
// separate: the status is always last and is redrawn after the others. A zero width means that there is no terminal and no
// status.
type Terminal struct {
	mu     sync.Mutex
	to     io.Writer // standard error
	width  int       // columns of the terminal
	height int       // its lines
	status string    // lines, without the end of the last
	drawn  int       // lines of the status that are on the screen
	middle bool      // the last write did not end its line
}

// NoTerminal makes a Terminal without a status, which writes to w. That may be nil if nothing is written.
func NoTerminal(w io.Writer) *Terminal { return &Terminal{to: w} }

// NewTerminal makes the Terminal of standard error.
func NewTerminal(stderr *os.File, env options.Lookup) *Terminal {
	c := &Terminal{to: stderr}
	if env.Text("TERM") != "dumb" {
		c.width, c.height = size(stderr)
	}
	return c
}

// IsTerminal reports whether f is a terminal. A nil file is none.
func IsTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// size is the number of columns and lines of a terminal, 80 and 24 if it has not said them, and 0 if f is none.
func size(f *os.File) (width, height int) {
	if !IsTerminal(f) {
		return 0, 0
	}
	width, height, _ = term.GetSize(int(f.Fd()))
	if width <= 0 {
		width = 80
	}
	if height <= 0 {
		height = 24
	}
	return width, height
}

// Width is that of a terminal, 80 if it has not said it, and 0 if f is none.
func Width(f *os.File) int {
	width, _ := size(f)
	return width
}

// SetStatus replaces the status. It does not wait for a terminal that has stopped scrolling: the status must not block the
// run.
func (c *Terminal) SetStatus(status string) {
	if c.width == 0 || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	c.status = status
	c.erase()
	c.draw()
}

// ClearStatus removes the status and ends a line that the analysis left open.
func (c *Terminal) ClearStatus() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status = ""
	c.erase()
	if c.width > 0 && c.middle {
		c.print("\n")
		c.middle = false
	}
}

// Write prints lines of our own on standard error.
func (c *Terminal) Write(p []byte) (int, error) { return c.write(c.to, p) }

// Writer is a writer to another stream of the same terminal.
func (c *Terminal) Writer(w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) { return c.write(w, p) })
}

func (c *Terminal) write(w io.Writer, p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	c.erase()
	n, err := w.Write(p)
	c.middle = p[len(p)-1] != '\n'
	c.draw()
	return n, err
}

func (c *Terminal) erase() {
	switch {
	case c.drawn == 1:
		c.print(eraseLine)
	case c.drawn > 1:
		c.print(fmt.Sprintf("\x1b[%dA", c.drawn-1) + eraseBelow) // CUU
	}
	c.drawn = 0
}

func (c *Terminal) draw() {
	if c.status == "" || c.middle || c.width == 0 {
		return
	}
	lines := strings.Split(c.status, "\n")
	for i, line := range lines {
		lines[i] = cut(line, c.width-1)
	}
	c.print(strings.Join(lines, "\r\n"))
	c.drawn = len(lines)
}

// print writes decoration. Its errors show in the writes of text.
func (c *Terminal) print(s string) { _, _ = io.WriteString(c.to, s) }

// cut shortens s to width characters, so that it never wraps.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(width, 0)]), " ")
}
