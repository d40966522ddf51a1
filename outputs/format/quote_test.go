package format

import (
	"testing"
)

func TestShellLine(t *testing.T) {
	if got := ShellLine("sh", "-c", "echo a; exit"); got != "sh -c 'echo a; exit'" {
		t.Errorf("it is %s", got)
	}
	if got := ShellLine(); got != "" {
		t.Errorf("no words are %q", got)
	}
}

func TestShellQuote(t *testing.T) {
	for in, want := range map[string]string{"a/b.py": "a/b.py", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := ShellQuote(in); got != want {
			t.Errorf("ShellQuote(%q) = %s, want %s", in, got, want)
		}
	}
}
