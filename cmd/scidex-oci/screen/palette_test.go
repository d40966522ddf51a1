package screen

import (
	"fmt"
	"testing"
)

func TestPalette(t *testing.T) {
	if got := (Palette{}).Red("x"); got != "x" {
		t.Errorf("plain: %q", got)
	}
	if got := (Palette{on: true}).Bold(""); got != "" {
		t.Errorf("nothing, coloured: %q", got)
	}
	if got := (Palette{on: true}).Red("x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("coloured: %q", got)
	}
}

func TestPaletteOutcome(t *testing.T) {
	tests := []struct{ word, want string }{
		{"ok", "\x1b[32mok    \x1b[0m"},
		{"fail", "\x1b[31mFAIL  \x1b[0m"},
		{"warn", "\x1b[33mwarn  \x1b[0m"},
		{"\x1b[2J", "\x1b[33m" + fmt.Sprintf("%-6s", Escape("\x1b[2J")) + "\x1b[0m"},
	}
	for _, test := range tests {
		if got := (Palette{on: true}).Outcome(test.word, "ok", "fail", 6); got != test.want {
			t.Errorf("%q: got %q, want %q", test.word, got, test.want)
		}
	}
	if got := (Palette{}).Outcome("fail", "ok", "fail", 6); got != "FAIL  " {
		t.Errorf("plain: %q", got)
	}
}
