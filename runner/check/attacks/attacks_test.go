package attacks

import (
	"slices"
	"testing"

	"golang.org/x/sys/unix"
)

// Every attack is there once, and its answers are errors of the kernel or the words of the canary.
func TestTable(t *testing.T) {
	known := []string{"unresolved", "refused"}
	for errno := range unix.Errno(200) {
		known = append(known, unix.ErrnoName(errno))
	}
	var names []string
	for _, row := range table {
		if slices.Contains(names, row.name) {
			t.Errorf("%s is there twice", row.name)
		}
		names = append(names, row.name)
		if len(Answers(row.name)) == 0 {
			t.Errorf("%s has no answer", row.name)
		}
		for _, answer := range Answers(row.name) {
			if answer == "" || !slices.Contains(known, answer) {
				t.Errorf("%s: %q is no answer", row.name, answer)
			}
		}
	}
}

func TestHeld(t *testing.T) {
	for _, c := range []struct {
		attack, answer string
		want           bool
	}{
		{"network", "ENETUNREACH", true},
		{"network", "ECONNREFUSED", false}, // somebody refused it
		{"loopback", "ECONNREFUSED", true},
		{"write", "ok", false},
		{"write", "", false},
		{"no such attack", "EPERM", false},
		{"", "", false},
	} {
		if got := Held(c.attack, c.answer); got != c.want {
			t.Errorf("%s, %q: %v", c.attack, c.answer, got)
		}
	}
}
