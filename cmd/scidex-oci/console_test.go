package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/scidex-ai/scidex-oci/runner/observe/event"
)

func TestConsoleKeepsTheStatusLast(t *testing.T) {
	var screen bytes.Buffer
	c := &console{to: &screen, width: 20}
	out := c.beside(&screen)
	c.setStatus("one")
	fmt.Fprint(out, "line\n")
	fmt.Fprint(out, "par")
	c.setStatus("two") // the line is open: nothing is drawn
	fmt.Fprint(c, "tial\n")
	c.setStatus(strings.Repeat("x", 30))
	fmt.Fprint(out, "open")
	c.clearStatus()
	fmt.Fprint(c, "table\n")
	want := "one" + eraseLine + "line\n" + "one" + eraseLine + "par" + "tial\n" + "two" +
		eraseLine + strings.Repeat("x", 19) + eraseLine + "open" + "\n" + "table\n"
	if got := screen.String(); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestConsoleWithoutATerminal(t *testing.T) {
	var screen bytes.Buffer
	c := &console{to: &screen}
	c.setStatus("one")
	fmt.Fprint(c, "a")
	c.clearStatus()
	if got := screen.String(); got != "a" {
		t.Errorf("got %q", got)
	}
}

func TestStatusDoesNotWaitForAStuckTerminal(t *testing.T) {
	c := &console{to: &bytes.Buffer{}, width: 20}
	c.mu.Lock()
	c.setStatus("one") // would block for ever
	c.mu.Unlock()
	if c.status != "" {
		t.Errorf("status %q was set under a held lock", c.status)
	}
}

func TestPatientSwallowsAfterAnError(t *testing.T) {
	calls := 0
	w := &patient{to: writerOf(func([]byte) (int, error) { calls++; return 0, syscall.EPIPE })}
	for range 3 {
		if n, err := w.Write([]byte("abc")); n != 3 || err != nil {
			t.Errorf("Write = %d, %v", n, err)
		}
	}
	if calls != 1 || w.lost() != nil {
		t.Errorf("%d writes, lost %v; want one write, and a closed pipe is no loss", calls, w.lost())
	}
	w = &patient{to: writerOf(func([]byte) (int, error) { return 0, syscall.ENOSPC })}
	_, _ = w.Write([]byte("abc"))
	if !errors.Is(w.lost(), syscall.ENOSPC) {
		t.Errorf("lost %v, want ENOSPC", w.lost())
	}
}

func TestTail(t *testing.T) {
	for _, parts := range [][]string{{"abcdefgh"}, {"abcd", "efgh"}, {"abcdefg", "h"}, {"a", "b", "c", "d", "e", "f", "g", "h"}} {
		end := tail{limit: 5}
		for _, part := range parts {
			fmt.Fprint(&end, part)
		}
		if end.String() != "defgh" {
			t.Errorf("%q: kept %q", parts, end.String())
		}
	}
}

func TestStatusLine(t *testing.T) {
	tests := []struct {
		id    string
		usage event.Usage
		want  string
	}{
		{"a", event.Usage{ElapsedMS: 61_500, CPUMS: 95_000, MemoryBytes: 53 << 20, Processes: 3}, "a  1:01  cpu 1:35  memory 53MiB  processes 3"},
		{"a", event.Usage{ElapsedMS: 3_601_000, Suspended: true}, "a  1:00:01  cpu 0:00  memory 0B  processes 0  suspended"},
		{"a\x1b[2J", event.Usage{}, `a\x1b[2J  0:00  cpu 0:00  memory 0B  processes 0`},
	}
	for _, test := range tests {
		if got := statusLine(test.id, test.usage); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}

func TestSpan(t *testing.T) {
	for ms, want := range map[int64]string{0: "0s", 21: "21ms", 1234: "1.23s", 59_999: "1m0s", 61_400: "1m1s", 3_600_000: "1h0m0s"} {
		if got := span(ms); got != want {
			t.Errorf("span(%d) = %q, want %q", ms, got, want)
		}
	}
}
