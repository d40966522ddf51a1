package app

import (
	"bytes"
	"strings"
	"testing"
)

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		text, want string
		most       int
	}{
		{"", "", 2},
		{"a", "a", 1},
		{"a\n", "a\n", 1},
		{"a\nb", "b", 1},
		{"a\nb\n", "b\n", 1},
		{"a\nb\nc\n", "b\nc\n", 2},
		{"a\nb\nc", "b\nc", 2},
		{"\n\n\n", "\n", 1},
		{"\n\n\n", "\n\n", 2},
		{"\na", "\na", 2},
		{"a\n\nb", "\nb", 2},
		{"a\nb\n", "a\nb\n", 9},
	} {
		for size := 1; size <= max(1, len(c.text)); size++ {
			var got bytes.Buffer
			l := &lastLines{to: &got, most: c.most}
			for rest := []byte(c.text); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := l.Write(rest[:n]); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if err := l.end(); err != nil || got.String() != c.want || l.dropped != int64(strings.LastIndex(c.text, c.want)) {
				t.Errorf("the last %d of %q in parts of %d: %q after %d bytes, %v, want %q", c.most, c.text, size, got.String(), l.dropped, err, c.want)
			}
		}
	}
}
