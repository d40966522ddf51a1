package scan

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMayRead(t *testing.T) {
	me, other := os.Geteuid(), os.Geteuid()+1
	for name, c := range map[string]struct {
		mode   uint32
		uid    int
		reader Reader
		want   string // part of the error; empty: readable
	}{
		"directory for all":             {unix.S_IFDIR | 0o755, me, Reader{}, ""},
		"directory for its owner":       {unix.S_IFDIR | 0o700, me, Reader{}, "--ids self"},
		"directory without search":      {unix.S_IFDIR | 0o744, me, Reader{}, "chmod o+rx"},
		"file for all":                  {unix.S_IFREG | 0o644, me, Reader{}, ""},
		"of nobody here":                {unix.S_IFREG | 0o600, other, Reader{}, fmt.Sprintf("(mode 0600); you cannot read it either: ask its owner (uid %d)", other)},
		"file for the group":            {unix.S_IFREG | 0o640, me, Reader{}, "chmod o+r)"},
		"the caller's own id":           {unix.S_IFDIR | 0o700, me, Reader{Own: true}, ""},
		"root has no --ids self to use": {unix.S_IFDIR | 0o700, me, Reader{Root: true}, "chmod o+rx)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.reader.MayRead(&unix.Stat_t{Mode: c.mode, Uid: uint32(c.uid), Gid: uint32(os.Getegid() + c.uid - me)}, func() bool { return false })
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.reader.Root && strings.Contains(err.Error(), "--ids self") {
				t.Errorf("root is told of --ids self: %v", err)
			}
		})
	}
}

// TestWay: what is advised is what the caller, uid 5 of group 6, can do.
func TestWay(t *testing.T) {
	for name, c := range map[string]struct {
		mode     uint32
		uid, gid uint32
		opens    bool
		root     bool
		want     string
	}{
		"its own":                    {0o700, 5, 6, true, false, "give it to everyone (chmod o+rx) or run with your own id (--ids self)"},
		"its own, closed":            {0o000, 5, 6, false, false, "give it to everyone (chmod o+rx)"},
		"of its group":               {0o750, 1, 6, true, false, "run with your own id (--ids self)"},
		"of its group, closed to it": {0o700, 1, 6, false, false, "you cannot read it either: ask its owner (uid 1)"},
		"of a supplementary group":   {0o750, 1, 7, true, false, "pass its directory with --stage, which copies it to /work"},
		"only to enter":              {0o710, 1, 7, false, false, "you cannot read it either: ask its owner (uid 1)"},
		"root's":                     {0o700, 0, 0, false, false, "you cannot read it either: ask its owner (uid 0)"},
		"root calls":                 {0o700, 1, 1, true, true, "give it to everyone (chmod o+rx)"},
	} {
		st := &unix.Stat_t{Mode: unix.S_IFDIR | c.mode, Uid: c.uid, Gid: c.gid}
		if got := (Reader{Root: c.root}).way(st, 0o5, "chmod o+rx", 5, 6, func() bool { return c.opens }); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
