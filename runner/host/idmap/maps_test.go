package idmap

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestMapsWereWritten: newuidmap has ended, and well, although somebody else has its output still, as a process has that
// was started meanwhile.
func TestMapsWereWritten(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"well":  {"sleep 1 &", ""},
		"badly": {"echo no such range >&2; sleep 1 & exit 3", "no such range"},
	} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			for _, tool := range []string{"newuidmap", "newgidmap"} {
				if err := os.WriteFile(filepath.Join(bin, tool), []byte("#!/bin/sh\n"+c.script+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
			ids := Range{Start: 100_000, Count: 65_536}
			began := time.Now()
			err := Account{UID: 1, GID: 1, UIDs: ids, GIDs: ids}.WriteMaps(t.Context(), os.Getpid())
			if (c.want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("after %v: %v, want %q", time.Since(began), err, c.want)
			}
		})
	}
}
