package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"unicode/utf8"

	"golang.org/x/term"
)

// eraseLine returns the cursor to the first column and erases the line (ECMA-48 EL), eraseBelow what comes after it
// too (ED).
const (
	eraseLine  = "\r\x1b[K"
	eraseBelow = "\r\x1b[J"
)

// console orders what is printed on a terminal: the analysis' output, our own lines and a status of one line or more
// that is always the last and is redrawn after the others. A zero width means that there is no terminal
// and that no status is drawn.
type console struct {
	mu     sync.Mutex
	to     io.Writer // standard error
	width  int       // columns of the terminal
	height int       // its lines
	status string    // lines, without the end of the last
	drawn  int       // so many lines of the status are on the screen
	middle bool      // what was printed last did not end its line
}

// newConsole makes the console of standard error.
func newConsole(stderr *os.File, env lookup) *console {
	c := &console{to: stderr}
	if !isTerminal(stderr) || env.Text("TERM") == "dumb" {
		return c
	}
	c.width, c.height = 80, 24
	if width, height, err := term.GetSize(int(stderr.Fd())); err == nil && width > 0 && height > 0 {
		c.width, c.height = width, height
	}
	return c
}

func isTerminal(f *os.File) bool { return f != nil && term.IsTerminal(int(f.Fd())) }

// setStatus replaces the status line. It gives up rather than wait for a terminal that has stopped
// scrolling: the status is not worth holding up the run.
func (c *console) setStatus(status string) {
	if c.width == 0 || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	c.status = status
	c.erase()
	c.draw()
}

// clearStatus removes the status line for good and ends a line that the analysis left open.
func (c *console) clearStatus() {
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
func (c *console) Write(p []byte) (int, error) { return c.write(c.to, p) }

// beside makes a writer for another stream of the same terminal.
func (c *console) beside(w io.Writer) io.Writer {
	return writerOf(func(p []byte) (int, error) { return c.write(w, p) })
}

func (c *console) write(w io.Writer, p []byte) (int, error) {
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

func (c *console) erase() {
	switch {
	case c.drawn == 1:
		c.print(eraseLine)
	case c.drawn > 1:
		c.print(fmt.Sprintf("\x1b[%dA", c.drawn-1) + eraseBelow) // CUU
	}
	c.drawn = 0
}

func (c *console) draw() {
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

// print writes decoration; a terminal that is gone is found by the writes that matter.
func (c *console) print(s string) { _, _ = io.WriteString(c.to, s) }

// cut shortens s to width characters, so that it never wraps.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return strings.TrimRight(string([]rune(s)[:max(width, 0)]), " ")
}

// writerOf makes a function a writer.
type writerOf func(p []byte) (int, error)

// Write calls f.
func (f writerOf) Write(p []byte) (int, error) { return f(p) }

// patient is a writer whose reader may go away: after the first error it swallows everything, so that a
// closed standard output never ends a run. The error is kept.
type patient struct {
	to  io.Writer
	err error
}

// Write reports success always.
func (w *patient) Write(p []byte) (int, error) {
	if w.err == nil {
		_, w.err = w.to.Write(p)
	}
	return len(p), nil
}

// lost is the error that cost output, or nil. A reader that went away is no loss: it wanted no more.
func (w *patient) lost() error {
	if errors.Is(w.err, syscall.EPIPE) {
		return nil
	}
	return w.err
}
