package mcp

import (
	"strings"
	"testing"
)

// part is what nextRow makes of a part of a text.
func part(text string, offset, length int) (int64, string) {
	before := min(offset, length)
	from, to := min(offset-before, len(text)), min(offset+length, len(text))
	begins, got := nextRow(int64(offset), length, int64(before), []byte(text[from:to]), int64(len(text)))
	return begins, string(got)
}

// TestNextRow: a part of a table begins with a row, wherever its offset is.
func TestNextRow(t *testing.T) {
	const text = "a,b\n12,34\n56,78"
	for _, test := range []struct {
		offset, length int
		begins         int64
		want           string
	}{
		{4, 6, 4, "12,34\n"},
		{3, 7, 4, "12,34\n"},
		{5, 9, 10, "56,7"},
		{1, 3, 4, ""},
		{5, 3, 5, "2,3"},
		{10, 9, 10, "56,78"},
		{12, 9, 15, ""},
		{16, 9, 16, ""},
		{20, 9, 20, ""},
		{30, 9, 30, ""},
	} {
		if begins, got := part(text, test.offset, test.length); begins != test.begins || got != test.want {
			t.Errorf("%d, %d: %d, %q, want %d, %q", test.offset, test.length, begins, got, test.begins, test.want)
		}
	}
}

// TestLongRow: parts of a row that is longer than a call reads follow one another, and nothing of it is left out.
func TestLongRow(t *testing.T) {
	const length = 50
	row := strings.Repeat("12345,", 20) + "\n"
	for _, text := range []string{row + "7\n", "a\n" + row + "7\n"} {
		start := len(text) - len(row) - 2
		for offset := start + length; offset < start+len(row); offset += length {
			if begins, got := part(text, offset, length); begins != int64(offset) || !strings.HasPrefix(text[offset:], got) || got == "" {
				t.Errorf("at %d: %d, %q", offset, begins, got)
			}
		}
	}
}
