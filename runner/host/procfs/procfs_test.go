package procfs

import (
	"os"
	"path/filepath"
	"testing"
)

// A process chooses its name: it must not choose what is read of it.
func TestStat(t *testing.T) {
	dir := t.TempDir()
	read := func(text string) Stat {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := ReadStat(dir)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, name := range []string{"sh", "a b", "x) R 1 1 1 1 1", "((", ")", "", "\n"} {
		s := read("7 (" + name + ") S 12 x -1\n")
		if state, err := s.State(); state != "S" || err != nil {
			t.Errorf("%q: state %q, %v", name, state, err)
		}
		if parent, err := s.Number(4); parent != 12 || err != nil {
			t.Errorf("%q: parent %d, %v", name, parent, err)
		}
		if last, err := s.Number(6); last != -1 || err != nil {
			t.Errorf("%q: the last is %d, %v", name, last, err)
		}
		for _, field := range []int{5, 7} {
			if n, err := s.Number(field); err == nil {
				t.Errorf("%q: field %d is %d", name, field, n)
			}
		}
	}
	for _, text := range []string{"", ")", "7 (sh)"} {
		if state, err := read(text).State(); err == nil {
			t.Errorf("%q: state %q", text, state)
		}
	}
	if s, err := ReadStat(filepath.Join(dir, "none")); err == nil {
		t.Errorf("of none: %q", s)
	}
}

func TestOnlineCPUs(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int64{"cpu  9 9\ncpu0 1 1\ncpu12 1 1\nintr 3\n": 2, "intr 3\n": 0, "": 0} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := OnlineCPUs(dir); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := OnlineCPUs("/nowhere"); got != 0 {
		t.Errorf("of no file: %d", got)
	}
}
