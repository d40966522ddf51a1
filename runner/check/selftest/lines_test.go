package selftest

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// The number and the length of lines are bounded, whatever pieces they come in.
func TestLines(t *testing.T) {
	for name, c := range map[string]struct {
		pieces []string
		lines  []string
		excess bool
	}{
		"two lines":        {[]string{"a\nb\n"}, []string{"a\n", "b\n"}, false},
		"in pieces":        {[]string{"a", "b", "c\nd", "\n"}, []string{"abc\n", "d\n"}, false},
		"three lines":      {[]string{"a\nb\nc\n"}, []string{"a\n", "b\n"}, true},
		"an open end":      {[]string{"a\nb"}, []string{"a\n"}, false},
		"a long line":      {[]string{strings.Repeat("x", maxLine), "x\n"}, nil, true},
		"after a long one": {[]string{strings.Repeat("x", maxLine+1), "\na\n"}, nil, true},
	} {
		l := newLines(2)
		for _, piece := range c.pieces {
			if n, err := l.Write([]byte(piece)); n != len(piece) || err != nil {
				t.Errorf("%s: %d, %v", name, n, err)
			}
		}
		close(l.lines)
		var lines []string
		for line := range l.lines {
			lines = append(lines, string(line))
		}
		if strings.Join(lines, "|") != strings.Join(c.lines, "|") || l.excess != c.excess {
			t.Errorf("%s: %q, excess %v", name, lines, l.excess)
		}
	}
}

// next returns the lines of a process that has ended, and then why there are no more.
func TestNext(t *testing.T) {
	l, ended := newLines(2), make(chan struct{})
	_, _ = l.Write([]byte("a\n"))
	close(ended)
	if line, err := l.next(t.Context(), ended); string(line) != "a\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if line, err := l.next(t.Context(), ended); line != nil || !errors.Is(err, errEnded) {
		t.Errorf("%q, %v", line, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if line, err := l.next(ctx, make(chan struct{})); line != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, %v", line, err)
	}
}
