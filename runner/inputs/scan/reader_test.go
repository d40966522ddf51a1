package scan

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestMayRead(t *testing.T) {
	for name, c := range map[string]struct {
		mode   uint32
		reader Reader
		want   string // part of the error; empty: readable
	}{
		"directory for all":             {unix.S_IFDIR | 0o755, Reader{}, ""},
		"directory for its owner":       {unix.S_IFDIR | 0o700, Reader{}, "--ids self"},
		"directory without search":      {unix.S_IFDIR | 0o744, Reader{}, "chmod o+rx"},
		"file for all":                  {unix.S_IFREG | 0o644, Reader{}, ""},
		"file for the group":            {unix.S_IFREG | 0o640, Reader{}, "chmod o+r)"},
		"the caller's own id":           {unix.S_IFDIR | 0o700, Reader{Own: true}, ""},
		"root has no --ids self to use": {unix.S_IFDIR | 0o700, Reader{Root: true}, "chmod o+rx)"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.reader.MayRead(&unix.Stat_t{Mode: c.mode})
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if c.reader.Root && strings.Contains(err.Error(), "--ids self") {
				t.Errorf("root is told of --ids self: %v", err)
			}
		})
	}
}
