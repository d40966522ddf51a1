package scan

import (
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
		"by a supplementary group":      {unix.S_IFREG | 0o640, other, Reader{}, "with --stage"},
		"file for the group":            {unix.S_IFREG | 0o640, me, Reader{}, "chmod o+r)"},
		"the caller's own id":           {unix.S_IFDIR | 0o700, me, Reader{Own: true}, ""},
		"root has no --ids self to use": {unix.S_IFDIR | 0o700, me, Reader{Root: true}, "chmod o+rx)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.reader.MayRead(&unix.Stat_t{Mode: c.mode, Uid: uint32(c.uid), Gid: uint32(os.Getegid() + c.uid - me)})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.reader.Root && strings.Contains(err.Error(), "--ids self") {
				t.Errorf("root is told of --ids self: %v", err)
			}
		})
	}
}
