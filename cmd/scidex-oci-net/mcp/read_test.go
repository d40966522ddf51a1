package mcp

import "testing"

// TestNextRow: a part of a table begins with a row, wherever its offset is.
func TestNextRow(t *testing.T) {
	const text = "a,b\n12,34\n56,78"
	for _, test := range []struct {
		offset, length int
		begins         int64
		want           string
	}{
		{4, 6, 4, "12,34\n"}, {3, 7, 4, "12,34\n"}, {5, 9, 10, "56,7"}, {1, 3, 4, ""}, {5, 3, 5, "2,3"}, {10, 9, 10, "56,78"}, {12, 9, 15, ""}, {16, 9, 16, ""}, {20, 9, 20, ""},
	} {
		from, to := min(test.offset-1, len(text)), min(test.offset+test.length, len(text))
		begins, got := nextRow(int64(test.offset), []byte(text[from:to]), int64(len(text)))
		if begins != test.begins || string(got) != test.want {
			t.Errorf("%d, %d: %d, %q, want %d, %q", test.offset, test.length, begins, got, test.begins, test.want)
		}
	}
}
