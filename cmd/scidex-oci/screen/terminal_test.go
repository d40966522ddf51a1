package screen

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func TestTerminalKeepsTheStatusLast(t *testing.T) {
	var shown bytes.Buffer
	c := &Terminal{to: &shown, width: 20}
	out := c.Writer(&shown)
	c.SetStatus("one")
	fmt.Fprint(out, "line\n")
	fmt.Fprint(out, "par")
	c.SetStatus("two") // the line is open: nothing is drawn
	fmt.Fprint(c, "tial\n")
	c.SetStatus(strings.Repeat("x", 30))
	fmt.Fprint(out, "open")
	c.ClearStatus()
	fmt.Fprint(c, "table\n")
	want := "one" + eraseLine + "line\n" + "one" + eraseLine + "par" + "tial\n" + "two" +
		eraseLine + strings.Repeat("x", 19) + eraseLine + "open" + "\n" + "table\n"
	if got := shown.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestTerminalWithoutATerminal(t *testing.T) {
	var shown bytes.Buffer
	c := &Terminal{to: &shown}
	c.SetStatus("one")
	fmt.Fprint(c, "a")
	c.ClearStatus()
	if got := shown.String(); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestStatusDoesNotWaitForAStuckTerminal(t *testing.T) {
	c := &Terminal{to: &bytes.Buffer{}, width: 20}
	c.mu.Lock()
	c.SetStatus("one") // would block for ever
	c.mu.Unlock()
	if c.status != "" {
		t.Errorf("status %q was set under a held lock", c.status)
	}
}

// A status of several lines is erased whole before anything else is printed.
func TestTerminalOfSeveralLines(t *testing.T) {
	var shown strings.Builder
	c := &Terminal{to: &shown, width: 20, height: 10}
	c.SetStatus("a\nb\nc")
	_, _ = c.Write([]byte("line\n"))
	c.ClearStatus()
	const up = "\x1b[2A\r\x1b[J"
	if want := "a\r\nb\r\nc" + up + "line\na\r\nb\r\nc" + up; shown.String() != want {
		t.Errorf("%q, want %q", shown.String(), want)
	}
}
